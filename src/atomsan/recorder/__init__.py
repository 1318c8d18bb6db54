"""RUN IT: runs a program and records its accesses to shared data and its synchronization, in the order of the run."""
