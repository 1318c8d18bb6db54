"""To ask and to set is one step, under a lock."""

import threading


class Cache:
    def __init__(self):
        self.lock = threading.Lock()
        self.warmed = threading.Event()
        self.loads = 0

    def warm(self):
        with self.lock:
            if not self.warmed.is_set():
                self.warmed.set()
                self.load()

    def load(self):
        self.loads += 1


def worker(caches):
    for cache in caches:
        cache.warm()


caches = [Cache() for _ in range(50)]
threads = [threading.Thread(target=worker, args=(caches,)) for _ in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
twice = sum(cache.loads != 1 for cache in caches)
print("broken: warmed twice" if twice else "warmed")
