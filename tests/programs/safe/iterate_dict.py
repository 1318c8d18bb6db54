"""A dict is summed up under the lock under which it changes."""

import threading


class Stock:
    def __init__(self):
        self.pieces = {"nail": 10, "bolt": 20, "nut": 30}
        self.lock = threading.Lock()

    def total(self):
        with self.lock:
            total = 0
            for name in self.pieces:
                total += self.pieces[name]
            return total

    def put(self, name, pieces):
        with self.lock:
            self.pieces[name] = pieces

    def drop(self, name):
        with self.lock:
            self.pieces.pop(name, None)


stock = Stock()


def counting():
    for _ in range(60):
        stock.total()


def changing():
    for i in range(120):
        if i % 2:
            stock.drop("screw")
        else:
            stock.put("screw", i)


threads = [threading.Thread(target=counting), threading.Thread(target=changing)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(stock.total())
