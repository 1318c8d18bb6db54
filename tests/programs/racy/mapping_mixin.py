"""A mapping whose items are locked, one by one: `get` is inherited, and what it returns is old when it is stored."""
# expect: Tally.count

import threading
from collections.abc import MutableMapping


class Tally(MutableMapping):
    def __init__(self):
        self.numbers = {}
        self.lock = threading.Lock()

    def __getitem__(self, key):
        with self.lock:
            return self.numbers[key]  # bug

    def __setitem__(self, key, number):
        with self.lock:
            self.numbers[key] = number  # bug

    def __delitem__(self, key):
        with self.lock:
            del self.numbers[key]

    def __iter__(self):
        return iter(list(self.numbers))

    def __len__(self):
        return len(self.numbers)

    def count(self, key):
        self[key] = self.get(key, 0) + 1  # bug


def worker(tally):
    for _ in range(200):
        tally.count("seen")


def main():
    tally = Tally()
    tally["seen"] = 0
    threads = [threading.Thread(target=worker, args=(tally,)) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print("counted" if tally["seen"] <= 600 else "too many")


main()
