"""Objects come and go at the same addresses, one thread's after another's: only the tally is shared."""

import threading


class Scratch:
    def __init__(self, n):
        self.n = n
        self.parts = []


class Tally:
    def __init__(self):
        self.total = 0
        self.lock = threading.Lock()

    def add(self, n):
        with self.lock:
            self.total += n


tally = Tally()


def worker():
    for i in range(150):
        scratch = Scratch(i)
        scratch.n += 1
        scratch.parts.append(scratch.n)
        scratch.n += len(scratch.parts)
        tally.add(scratch.n)
        del scratch


threads = [threading.Thread(target=worker) for _ in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(tally.total)
