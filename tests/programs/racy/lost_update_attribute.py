# expect: Counter.add
# within: worker

"""A read and a write of an attribute, with nothing to keep them together."""

import threading


class Counter:
    def __init__(self):
        self.value = 0

    def add(self, n):
        value = self.value  # bug
        self.value = value + n  # bug


counter = Counter()


def worker():
    for _ in range(100):
        counter.add(1)


threads = [threading.Thread(target=worker) for _ in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(counter.value)
