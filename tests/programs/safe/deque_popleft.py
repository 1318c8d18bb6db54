"""One step that tests and removes at once."""

import threading
from collections import deque


class Line:
    def __init__(self):
        self.waiting = deque(range(200))

    def next_one(self):
        try:
            return self.waiting.popleft()
        except IndexError:
            return None


line = Line()


def worker():
    for _ in range(80):
        line.next_one()


threads = [threading.Thread(target=worker) for _ in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(len(line.waiting))
