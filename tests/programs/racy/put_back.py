# expect: Worker.do_one
# within: Worker.run

"""A worker drains the basket, does the first job and puts the rest back in place of what came meanwhile."""

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
            jobs, self.jobs = self.jobs, []  # bug
            return jobs

    def restore(self, jobs):
        with self.lock:
            self.jobs = jobs  # bug

    def take(self):
        with self.lock:
            return self.jobs.pop(0) if self.jobs else None


class Worker(threading.Thread):
    def __init__(self, basket):
        super().__init__()
        self.basket = basket
        self.done = 0

    def do_one(self):
        rest = self.basket.drain()  # bug
        if rest:
            self.done += 1
            self.basket.restore(rest[1:])  # bug

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
