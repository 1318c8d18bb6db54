"""Whether a job is still free is asked, and it is claimed, in one hold of its lock."""

import threading


class Job:
    def __init__(self, name):
        self.name = name
        self.lock = threading.Lock()
        self.state = "new"
        self.runs = 0

    def claim(self):
        with self.lock:
            is_free = self.state == "new"
            if is_free:
                self.state = "running"
        return is_free

    def finish(self):
        with self.lock:
            self.state = "done"

    def run(self):
        if self.claim():
            self.runs += 1
            self.finish()


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
