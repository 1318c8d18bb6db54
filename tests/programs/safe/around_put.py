"""The number is drawn and stored under a lock, and told inside it."""

import queue
import threading


class Desk:
    def __init__(self):
        self.lock = threading.Lock()
        self.told = queue.Queue()
        self.last = 0

    def number(self):
        with self.lock:
            drawn = self.last + 1
            self.told.put_nowait(drawn)
            self.last = drawn


def clerk(desk):
    for _ in range(50):
        desk.number()


desk = Desk()
threads = [threading.Thread(target=clerk, args=(desk,)) for _ in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print("broken: drawn twice" if desk.last != desk.told.qsize() else "drawn")
