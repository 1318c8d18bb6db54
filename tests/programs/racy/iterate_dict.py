# expect: Stock.total
# within: counting

"""A dict changes while it is summed up."""

import threading


class Stock:
    def __init__(self):
        self.pieces = {"nail": 10, "bolt": 20, "nut": 30}

    def total(self):
        total = 0
        try:
            for name in self.pieces:  # bug
                total += self.pieces[name]  # bug
        except (RuntimeError, KeyError):
            return None
        return total

    def put(self, name, pieces):
        self.pieces[name] = pieces  # bug

    def drop(self, name):
        self.pieces.pop(name, None)  # bug


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
