"""The log: a ring of records, and what makes a trace of them. Knows no Python program."""
