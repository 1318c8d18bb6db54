"""Coverage-guided fuzzing of the readers; `run.py` starts it."""
