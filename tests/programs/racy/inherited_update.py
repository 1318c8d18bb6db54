"""A dictionary that locks each store and each look by `super()`; counting is a look and a store."""
# expect: Tally.count

import threading
from collections import OrderedDict


class Tally(OrderedDict):
    def __init__(self):
        self.lock = threading.Lock()
        super().__init__()

    def __getitem__(self, key):
        with self.lock:
            return super().__getitem__(key)  # bug

    def __setitem__(self, key, number):
        with self.lock:
            super().__setitem__(key, number)  # bug

    def count(self, key):
        self[key] = self[key] + 1  # bug


def worker(tally):
    for _ in range(150):
        tally.count("seen")


def main():
    tally = Tally()
    tally.update(seen=0)
    threads = [threading.Thread(target=worker, args=(tally,)) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print("counted" if tally["seen"] == 450 else "broken: some were lost")


main()
