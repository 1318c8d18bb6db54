"""The field by way of the instance's __dict__, and by name, under a lock."""

import threading


class Counter:
    def __init__(self):
        self.value = 0
        self.lock = threading.Lock()

    def add(self, n):
        with self.lock:
            value = self.__dict__["value"]
            self.value = value + n

    def reset(self):
        with self.lock:
            vars(self)["value"] = 0


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
