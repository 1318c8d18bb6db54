# expect: worker

"""A job is looked for and claimed in two locked calls: the condition on its state says which job it is."""

import threading
from dataclasses import dataclass


@dataclass
class Job:
    name: str
    state: str = "waiting"
    runs: int = 0


class Board:
    def __init__(self, jobs):
        self.lock = threading.Lock()
        self.jobs = [Job(f"job {number}") for number in range(jobs)]

    def waiting(self):
        with self.lock:
            return next((job for job in self.jobs if job.state == "waiting"), None)  # bug

    def claim(self, job):
        with self.lock:
            job.state = "running"  # bug

    def finish(self, job):
        with self.lock:
            job.state = "done"  # bug
            job.runs += 1


board = Board(40)


def worker():
    while (job := board.waiting()) is not None:  # bug
        board.claim(job)  # bug
        board.finish(job)  # bug


workers = [threading.Thread(target=worker) for _ in range(3)]
for one in workers:
    one.start()
for one in workers:
    one.join()
twice = [job.name for job in board.jobs if job.runs != 1]
print("broken: done twice:" if twice else "each was done once", *twice)
