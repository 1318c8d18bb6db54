"""WAS IT ATOMIC? The checkers, one file an algorithm; their compiled engines, the loop that feeds them, a registry."""
