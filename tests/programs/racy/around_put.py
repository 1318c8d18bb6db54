# expect: Desk.number
# within: clerk

"""A number is drawn, told to a queue that never waits, and only then stored: two clerks may draw the same one."""

import queue
import threading


class Desk:
    def __init__(self):
        self.told = queue.Queue()
        self.last = 0

    def number(self):
        drawn = self.last + 1  # bug
        self.told.put_nowait(drawn)
        self.last = drawn  # bug


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
