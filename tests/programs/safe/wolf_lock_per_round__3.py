"""A sweeper empties bins, one critical section for each."""

import threading


class Park:
    def __init__(self, bins):
        self.lock = threading.Lock()
        self.bins = [0] * bins
        self.heap = 0

    def throw(self, at):
        self.lock.acquire()
        self.bins[at] += 1
        self.lock.release()

    def sweep(self):
        for at in range(len(self.bins)):
            self.lock.acquire()
            self.heap += self.bins[at]
            self.bins[at] = 0
            self.lock.release()


park = Park(6)


def walker():
    for n in range(60):
        park.throw(n % 6)


def sweeper():
    for _ in range(12):
        park.sweep()


threads = [threading.Thread(target=walker), threading.Thread(target=walker), threading.Thread(target=sweeper)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
park.sweep()
total = park.heap
print("pieces" if total == 120 else "broken: pieces", total)
