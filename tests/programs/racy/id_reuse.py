# expect: Tally.add
# within: worker

"""A lost update beside objects that come and go at the same addresses, which are nobody else's."""

import threading


class Scratch:
    def __init__(self, n):
        self.n = n
        self.parts = []


class Tally:
    def __init__(self):
        self.total = 0

    def add(self, n):
        self.total += n  # bug


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
