"""Whoever does not find an entry takes the lock, looks again, and only then makes it."""

import threading
import time


class Cache:
    def __init__(self):
        self.lock = threading.Lock()
        self.entries = {}

    def get(self, key):
        try:
            return self.entries[key]
        except KeyError:
            time.sleep(0)
            with self.lock:
                if key not in self.entries:
                    self.entries[key] = [key]
                return self.entries[key]


cache = Cache()


def worker():
    for key in range(60):
        cache.get(key)


threads = [threading.Thread(target=worker) for _ in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(len(cache.entries))
