"""An LRU cache on an OrderedDict, with a lock around each operation."""

import threading
from collections import OrderedDict


class LRU:
    def __init__(self, size):
        self.size = size
        self.items = OrderedDict()
        self.lock = threading.Lock()

    def get(self, key):
        with self.lock:
            if key not in self.items:
                return None
            self.items.move_to_end(key)
            return self.items[key]

    def put(self, key, value):
        with self.lock:
            self.items[key] = value
            if len(self.items) > self.size:
                self.items.popitem(last=False)


cache = LRU(2)


def worker(puts):
    for i in range(150):
        if puts:
            cache.put(i % 5, i)
        else:
            cache.get(i % 5)


threads = [threading.Thread(target=worker, args=(given,)) for given in (True, False, False)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(len(cache.items) > 0)
