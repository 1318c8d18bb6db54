"""A field in a slot, and its lock in another."""

import threading


class Point:
    __slots__ = ("lock", "x", "y")

    def __init__(self):
        self.x = 0
        self.y = 0
        self.lock = threading.Lock()

    def move(self, dx, dy):
        with self.lock:
            self.x += dx
            self.y += dy


point = Point()


def worker():
    for _ in range(100):
        point.move(1, 2)


threads = [threading.Thread(target=worker) for _ in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(point.x, point.y)
