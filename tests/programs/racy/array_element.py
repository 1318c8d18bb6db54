# expect: Histogram.count
# within: worker

"""An element of an array.array."""

import threading
from array import array


class Histogram:
    def __init__(self):
        self.bins = array("l", [0] * 4)

    def count(self, value):
        self.bins[value % 4] += 1  # bug


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
