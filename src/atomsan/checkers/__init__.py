"""WAS IT ATOMIC? Checkers of the run as it happened: one file an algorithm, its engine, one loop, one registry."""
