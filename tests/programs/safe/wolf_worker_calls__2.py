"""A worker takes job after job and reports each: the queue by itself is locked, and so is the report."""

import threading


class Jobs:
    def __init__(self, jobs):
        self._jobs = list(jobs)
        self._lock = threading.Lock()
        self._done = []

    def next(self):
        with self._lock:
            if self._jobs:
                return self._jobs.pop()
            return None

    def report(self, result):
        with self._lock:
            self._done.append(result)

    def results(self):
        with self._lock:
            return sorted(self._done)


jobs = Jobs(range(120))


def worker():
    while (job := jobs.next()) is not None:
        jobs.report(job * job)


threads = [threading.Thread(target=worker) for _ in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
right = jobs.results() == [job * job for job in range(120)]
print("all squares" if right else "broken: squares are missing")
