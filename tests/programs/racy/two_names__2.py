# expect: merge
# within: job

"""Source and target of a merge are the same shelf: what is read by one parameter is written by the other."""

import threading


class Shelf:
    def __init__(self):
        self._books = 0
        self._lock = threading.RLock()

    def count(self):
        with self._lock:
            return self._books  # bug

    def put(self, books):
        with self._lock:
            self._books = books  # bug


shelf = Shelf()


def merge(source, target, more):
    total = source.count() + more  # bug
    target.put(total)  # bug


def job():
    for _ in range(50):
        merge(shelf, shelf, 2)


threads = [threading.Thread(target=job) for _ in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
total = shelf.count()
print(total if total == 300 else f"broken: {total} books of 300")
