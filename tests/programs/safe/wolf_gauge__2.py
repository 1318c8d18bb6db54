"""Whoever reads a map counts as a reader meanwhile; who draws on it waits until nobody does."""

import threading
from contextlib import contextmanager


class Map:
    def __init__(self):
        self.changed = threading.Condition()
        self.readers = 0
        self.lines = []

    @contextmanager
    def reading(self):
        with self.changed:
            self.readers += 1
        try:
            yield self.lines
        finally:
            with self.changed:
                self.readers -= 1
                self.changed.notify_all()

    def draw(self, line):
        with self.changed:
            while self.readers:
                self.changed.wait()
            self.lines = [*self.lines, line]


chart = Map()


def hiker():
    for _ in range(20):
        with chart.reading() as lines:
            len(lines)


def surveyor():
    for number in range(20):
        chart.draw(number)


threads = [threading.Thread(target=target) for target in (hiker, hiker, surveyor)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(len(chart.lines), "lines")
