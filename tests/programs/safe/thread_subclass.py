"""A subclass of Thread, whose run adds to an object that all have, under its lock."""

import threading


class Stats:
    def __init__(self):
        self.total = 0
        self.lock = threading.Lock()


class Worker(threading.Thread):
    def __init__(self, stats):
        super().__init__()
        self.stats = stats

    def run(self):
        for n in range(120):
            with self.stats.lock:
                self.stats.total += n


stats = Stats()
workers = [Worker(stats) for _ in range(3)]
for worker in workers:
    worker.start()
for worker in workers:
    worker.join()
print(stats.total)
