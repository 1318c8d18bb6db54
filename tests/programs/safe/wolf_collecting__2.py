"""Bins are emptied one after the other, each in a critical section; how much it was is added up on the way."""

import threading


class Park:
    def __init__(self, bins):
        self.lock = threading.Lock()
        self.bins = [0] * bins

    def throw(self, at):
        with self.lock:
            self.bins[at] += 1

    def empty(self, at):
        with self.lock:
            pieces = self.bins[at]
            self.bins[at] = 0
            return pieces


park = Park(5)


def sweep():
    swept = []
    for at in range(5):
        swept.append(park.empty(at))
    return swept


heap = []


def sweeper():
    for _ in range(15):
        heap.extend(sweep())


def walker():
    for n in range(60):
        park.throw(n % 5)


threads = [threading.Thread(target=sweeper), threading.Thread(target=walker), threading.Thread(target=walker)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
total = sum(heap) + sum(park.bins)
print("pieces" if total == 120 else "broken: pieces", total)
