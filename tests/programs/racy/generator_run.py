# expect: tickets

"""Each thread has its own generator, all over the same box."""

import threading


class Box:
    def __init__(self):
        self.left = 150


box = Box()


def tickets(box):
    while box.left > 0:  # bug
        box.left -= 1  # bug
        yield box.left  # bug


def worker():
    mine = []
    for number in tickets(box):
        mine.append(number)


threads = [threading.Thread(target=worker) for _ in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(box.left <= 0)
