"""Oracles: each property computed directly from its definition, slowly, to compare the engines with.

Where a paper is ambiguous or wrong, they follow `docs/papers.md`.
"""
