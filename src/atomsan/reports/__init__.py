"""TELL SOMEONE: renders findings, one format a file, listed in `registry`. Knows nothing of how they were found."""
