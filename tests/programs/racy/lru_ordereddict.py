# expect: LRU.get
# within: worker

"""An LRU cache on an OrderedDict: the key can be evicted between the test and the move."""

import threading
from collections import OrderedDict


class LRU:
    def __init__(self, size):
        self.size = size
        self.items = OrderedDict()

    def get(self, key):
        if key not in self.items:  # bug
            return None
        try:
            self.items.move_to_end(key)  # bug
            return self.items[key]  # bug
        except KeyError:
            return None

    def put(self, key, value):
        self.items[key] = value  # bug
        if len(self.items) > self.size:  # bug
            try:
                self.items.popitem(last=False)  # bug
            except KeyError:
                return


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
