"""WHAT TO WATCH: the atomicity specification."""
