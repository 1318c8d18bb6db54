# expect: Counter.add
# within: worker

"""The field by way of the instance's __dict__, and by name."""

import threading


class Counter:
    def __init__(self):
        self.value = 0

    def add(self, n):
        value = self.__dict__["value"]  # bug
        self.value = value + n  # bug

    def reset(self):
        vars(self)["value"] = 0  # bug


counter = Counter()


def worker():
    for i in range(150):
        if i % 3:
            counter.add(1)
        else:
            counter.reset()


threads = [threading.Thread(target=worker) for _ in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(counter.value > 0)
