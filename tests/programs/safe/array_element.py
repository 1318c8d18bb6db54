"""An element of an array.array, under a lock."""

import threading
from array import array


class Histogram:
    def __init__(self):
        self.bins = array("l", [0] * 4)
        self.lock = threading.Lock()

    def count(self, value):
        with self.lock:
            self.bins[value % 4] += 1


histogram = Histogram()


def worker():
    for i in range(150):
        histogram.count(i)


threads = [threading.Thread(target=worker) for _ in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(sum(histogram.bins))
