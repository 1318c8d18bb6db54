"""Each thread has its own generator, all over the same box, with a lock held between two yields."""

import threading


class Box:
    def __init__(self):
        self.left = 150
        self.lock = threading.Lock()


box = Box()


def tickets(box):
    while True:
        with box.lock:
            if box.left <= 0:
                return
            box.left -= 1
            number = box.left
        yield number


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
