"""The compiled loops of the checkers: integers in, verdicts and witnesses out."""
