# expect: Cell.compute
# within: sheet

"""A cell is marked while it is computed; that it was declared out of date meanwhile is not looked at."""

import threading
import time


class Cell:
    def __init__(self):
        self.lock = threading.Lock()
        self.state = "new"
        self.source = 0
        self.value = None

    def change(self, source):
        with self.lock:
            self.source = source  # bug
            self.state = "old"  # bug

    def compute(self):
        with self.lock:
            if self.state == "ready":
                return
            self.state = "computing"
            source = self.source  # bug
        time.sleep(0)
        with self.lock:
            self.value = source * 2
            self.state = "ready"  # bug

    def is_wrong(self):
        with self.lock:
            return self.state == "ready" and self.value != self.source * 2


cell = Cell()
wrong = []


def sheet():
    for _ in range(80):
        cell.compute()
        wrong.append(cell.is_wrong())


def typist():
    for source in range(80):
        cell.change(source)


threads = [threading.Thread(target=sheet), threading.Thread(target=typist)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print("broken: ready with an old value" if any(wrong) else "never ready with an old value")
