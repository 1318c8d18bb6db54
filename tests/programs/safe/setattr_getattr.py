"""The field's name is a variable, and the lock is held from getattr to setattr."""

import threading


class Stats:
    def __init__(self):
        self.hits = 0
        self.misses = 0
        self.lock = threading.Lock()

    def bump(self, name):
        with self.lock:
            setattr(self, name, getattr(self, name) + 1)


stats = Stats()


def worker():
    for i in range(120):
        stats.bump("misses" if i % 3 else "hits")


threads = [threading.Thread(target=worker) for _ in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(stats.hits, stats.misses)
