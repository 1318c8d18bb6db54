"""Takers count themselves while they wait, for a while each time: a wait that ends by itself lets others in too."""

import threading


class Box:
    def __init__(self):
        self.changed = threading.Condition()
        self.items = []
        self.waiting = 0

    def put(self, item):
        with self.changed:
            self.items.append(item)
            if self.waiting:
                self.changed.notify()

    def take(self):
        with self.changed:
            while not self.items:
                self.waiting += 1
                try:
                    self.changed.wait(0.001)
                finally:
                    self.waiting -= 1
            return self.items.pop()


def taker(box):
    for _ in range(10):
        box.take()


box = Box()
pause = threading.Event()
threads = [threading.Thread(target=taker, args=(box,)) for _ in range(3)]
for thread in threads:
    thread.start()
for i in range(30):
    box.put(i)
    pause.wait(0.003)
for thread in threads:
    thread.join()
print(box.waiting)
