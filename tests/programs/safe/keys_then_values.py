"""The names are listed, and looked up one by one, while the lock is held."""

import threading


class Board:
    def __init__(self):
        self.lock = threading.RLock()
        self.points = {"ann": 5, "bob": 5}

    def rename(self, old, new):
        with self.lock:
            if old in self.points:
                self.points[new] = self.points.pop(old)

    def names(self):
        with self.lock:
            return sorted(self.points)

    def of(self, name):
        with self.lock:
            return self.points.get(name, 0)

    def total(self):
        with self.lock:
            return sum([self.of(name) for name in self.names()])


board = Board()
wrong = []


def renamer():
    for _ in range(150):
        board.rename("ann", "eve")
        board.rename("eve", "ann")


def reader():
    for _ in range(150):
        if board.total() != 10:
            wrong.append(1)


threads = [threading.Thread(target=renamer), threading.Thread(target=reader)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print("broken: points are missing" if wrong else "all there")
