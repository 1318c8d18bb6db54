"""A long list is worked off with the lock taken once an item, so that others get their turn."""

import threading


class Histogram:
    def __init__(self):
        self.lock = threading.Lock()
        self.counts = {}

    def add_all(self, values):
        for value in values:
            with self.lock:
                self.counts[value] = self.counts.get(value, 0) + 1


histogram = Histogram()


def worker():
    histogram.add_all(range(10))
    histogram.add_all([1, 2, 3] * 20)


threads = [threading.Thread(target=worker) for _ in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
total = sum(histogram.counts.values())
print(total if total == 210 else f"broken: {total} of 210")
