"""Generated programs with known truth: an oracle for judging."""
