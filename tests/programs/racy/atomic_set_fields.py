"""Two fields that belong together, as the class says, and a third that does not: they are seen at odds."""

# expect: Stats.seen

import threading

import atomsan


@atomsan.atomic_set("hits", "misses")
class Stats:
    def __init__(self):
        self.lock = threading.Lock()
        self.hits = 0
        self.misses = 0

    def both(self):
        with self.lock:
            self.hits += 1
        with self.lock:
            self.misses += 1

    def seen(self):
        with self.lock:
            hits = self.hits  # bug
        with self.lock:
            return hits + self.misses  # bug


def worker(stats):
    for _ in range(50):
        stats.both()
        stats.seen()


stats = Stats()
threads = [threading.Thread(target=worker, args=(stats,)) for _ in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(stats.hits, stats.misses)
