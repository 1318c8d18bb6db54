# expect: Line.next_one
# within: worker

"""A deque's operations are single steps; the test and the removal are two."""

import threading
from collections import deque


class Line:
    def __init__(self):
        self.waiting = deque(range(200))

    def next_one(self):
        if self.waiting:  # bug
            try:
                return self.waiting.popleft()  # bug
            except IndexError:
                return None
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
