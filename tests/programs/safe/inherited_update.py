"""A dictionary that locks each store and each look by `super()`; counting holds the lock over both."""

import threading
from collections import OrderedDict


class Tally(OrderedDict):
    def __init__(self):
        self.lock = threading.RLock()
        super().__init__()

    def __getitem__(self, key):
        with self.lock:
            return super().__getitem__(key)

    def __setitem__(self, key, number):
        with self.lock:
            super().__setitem__(key, number)

    def count(self, key):
        with self.lock:
            self[key] = self[key] + 1


def worker(tally, name):
    for number in range(150):
        tally.count("seen")
        tally.update({name: number})


def main():
    tally = Tally()
    tally.update(seen=0)
    threads = [threading.Thread(target=worker, args=(tally, name)) for name in ("one", "two", "three")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print("counted" if tally["seen"] == 450 else "broken: some were lost")


main()
