"""A cell is marked while it is computed, and the mark is looked at before the result counts."""

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
            self.source = source
            self.state = "old"

    def compute(self):
        with self.lock:
            if self.state == "ready":
                return
            self.state = "computing"
            source = self.source
        time.sleep(0)
        with self.lock:
            if self.state == "computing":
                self.value = source * 2
                self.state = "ready"

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
