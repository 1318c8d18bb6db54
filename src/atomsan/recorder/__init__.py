"""RUN IT: the program runs, and what its threads do to shared data is logged in the order in which it happens."""
