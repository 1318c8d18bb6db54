"""The read and the write of the attribute are one critical section."""

import threading


class Counter:
    def __init__(self):
        self.value = 0
        self.lock = threading.Lock()

    def add(self, n):
        with self.lock:
            value = self.value
            self.value = value + n


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
