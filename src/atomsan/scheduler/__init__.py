"""WHO RUNS NEXT: strategies that decide at scheduling points which thread goes on, one a file (`types.Scheduler`)."""
