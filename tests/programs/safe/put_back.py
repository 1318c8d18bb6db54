"""A worker takes the first job out of the basket."""

import threading


class Basket:
    def __init__(self):
        self.lock = threading.Lock()
        self.jobs = []

    def add(self, job):
        with self.lock:
            self.jobs.append(job)

    def drain(self):
        with self.lock:
            jobs, self.jobs = self.jobs, []
            return jobs

    def restore(self, jobs):
        with self.lock:
            self.jobs = jobs

    def take(self):
        with self.lock:
            return self.jobs.pop(0) if self.jobs else None


class Worker(threading.Thread):
    def __init__(self, basket):
        super().__init__()
        self.basket = basket
        self.done = 0

    def do_one(self):
        if self.basket.take() is not None:
            self.done += 1

    def run(self):
        for _ in range(80):
            self.do_one()


basket = Basket()


def boss():
    for job in range(60):
        basket.add(job)


workers = [Worker(basket), Worker(basket)]
threads = [threading.Thread(target=boss), *workers]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
known = sum(worker.done for worker in workers) + len(basket.jobs)
print("all jobs" if known == 60 else f"broken: {60 - known} jobs are gone")
