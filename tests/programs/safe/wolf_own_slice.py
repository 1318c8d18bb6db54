"""Each thread works on a slice of its own of one list."""

import threading

values = list(range(40))


def rotate(values, first, last):
    part = values[first:last]
    for i in range(first, last):
        values[i] = part[(i + 1 - first) % len(part)]


def worker(values, first):
    for _ in range(30):
        rotate(values, first, first + 10)


threads = [threading.Thread(target=worker, args=(values, first)) for first in (0, 10, 20, 30)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(values)
