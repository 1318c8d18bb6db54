"""Filled before the threads start, and only read from then on, many times in one function."""

import threading


class Config:
    def __init__(self):
        self.limits = {}
        self.names = []

    def fill(self):
        for i in range(10):
            self.limits[i] = i * i
            self.names.append(str(i))

    def total(self):
        total = 0
        for i in self.limits:
            total += self.limits[i] + len(self.names[i])
        return total


config = Config()
config.fill()


def worker():
    for _ in range(20):
        config.total()


threads = [threading.Thread(target=worker) for _ in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(config.total())
