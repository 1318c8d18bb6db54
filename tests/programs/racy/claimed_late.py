# expect: Job.run
# within: worker

"""Whether a job is still free is asked in one hold of its lock, and it is claimed in another."""

import threading


class Job:
    def __init__(self, name):
        self.name = name
        self.lock = threading.Lock()
        self.state = "new"
        self.runs = 0

    def is_in(self, state):
        with self.lock:
            return self.state == state  # bug

    def move(self, state):
        with self.lock:
            self.state = state  # bug

    def run(self):
        if self.is_in("new"):  # bug
            self.move("running")  # bug
            self.runs += 1
            self.move("done")


jobs = [Job(f"job {number}") for number in range(20)]


def worker():
    for job in jobs:
        job.run()


workers = [threading.Thread(target=worker) for _ in range(3)]
for one in workers:
    one.start()
for one in workers:
    one.join()
runs = sum(job.runs for job in jobs)
print("runs" if runs == len(jobs) else "broken: runs", runs)
