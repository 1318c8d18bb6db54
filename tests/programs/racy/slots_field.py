# expect: Point.move
# within: worker

"""A field in a slot."""

import threading


class Point:
    __slots__ = ("x", "y")

    def __init__(self):
        self.x = 0
        self.y = 0

    def move(self, dx, dy):
        self.x += dx  # bug
        self.y += dy  # bug


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
