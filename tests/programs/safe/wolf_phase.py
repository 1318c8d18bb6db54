"""A thread says how far it is, and another one looks: each phase is meant to be seen."""

import threading
import time


class Job:
    def __init__(self):
        self.phase = "new"


def run(job):
    job.phase = "loading"
    time.sleep(0.002)
    job.phase = "computing"
    time.sleep(0.002)
    job.phase = "done"


seen = set()
jobs = [Job() for _ in range(3)]
threads = [threading.Thread(target=run, args=(job,)) for job in jobs]
for thread in threads:
    thread.start()
while len(seen) < 3:
    for i, job in enumerate(jobs):
        if job.phase == "done":
            seen.add(i)
    time.sleep(0.0005)
for thread in threads:
    thread.join()
print(len(seen))
