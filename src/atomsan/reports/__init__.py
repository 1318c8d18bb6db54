"""TELL SOMEONE: what was found, as text or JSON. Reports know findings, and nothing of how they were found."""
