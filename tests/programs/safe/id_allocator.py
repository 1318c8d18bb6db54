"""Counting up and reading are one critical section."""

import threading


class Ids:
    def __init__(self):
        self.last = 0
        self.lock = threading.Lock()

    def next_id(self):
        with self.lock:
            self.last += 1
            return self.last


ids = Ids()


def worker():
    for _ in range(100):
        ids.next_id()


threads = [threading.Thread(target=worker) for _ in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(ids.last)
