"""Each store is locked by the class itself, which the inherited `update` and `setdefault` use: a step each."""

import threading
from collections import OrderedDict


class Latest(OrderedDict):
    def __init__(self):
        self.lock = threading.Lock()
        self.stores = 0
        super().__init__()

    def __getitem__(self, key):
        with self.lock:
            return super().__getitem__(key)

    def __setitem__(self, key, value):
        with self.lock:
            super().__setitem__(key, value)
            self.stores += 1


latest = Latest()


def worker(name):
    for number in range(150):
        latest.update({name: number})
        latest.setdefault("first", 1)


threads = [threading.Thread(target=worker, args=(name,)) for name in ("ann", "bob", "cyd")]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(sorted(latest))
