# expect: Catalogue.reserve
# within: reader

"""Free copies are read through an operator and a map, and one less is written."""

import operator
import threading


class Catalogue:
    def __init__(self, copies):
        self.copies = copies
        self.lock = threading.RLock()

    def free(self):
        with self.lock:
            return self.copies  # bug

    def note(self, copies):
        with self.lock:
            self.copies = copies  # bug

    def reserve(self):
        (free,) = map(operator.methodcaller("free"), [self])  # bug
        if free > 0:
            self.note(free - 1)  # bug
            return 1
        return 0


catalogue = Catalogue(90)
lent = []


def reader():
    for _ in range(60):
        lent.append(catalogue.reserve())


threads = [threading.Thread(target=reader) for _ in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print("lent" if sum(lent) == 90 else "broken: lent", sum(lent), "of 90")
