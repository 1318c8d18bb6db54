# expect: Cache.get

"""Whoever does not find an entry makes it, under the lock but without another look: two make it, and one is lost."""

import threading
import time


class Cache:
    def __init__(self):
        self.lock = threading.Lock()
        self.entries = {}

    def get(self, key):
        try:
            return self.entries[key]  # bug
        except KeyError:
            entry = [key]
            time.sleep(0)
            with self.lock:
                self.entries[key] = entry  # bug
            return entry


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
