"""Oracles: each property straight from its definition, slow and plain, to hold the engines against."""
