# expect: Stats.bump
# within: worker

"""The field's name is a variable."""

import threading


class Stats:
    def __init__(self):
        self.hits = 0
        self.misses = 0

    def bump(self, name):
        setattr(self, name, getattr(self, name) + 1)  # bug


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
