"""The options: which there are (`table`), what one is (`option`), and their values in files (`settings`)."""
