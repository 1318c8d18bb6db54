"""The options: their table (`table`), the type of one (`option`), and values from configuration files (`settings`)."""
