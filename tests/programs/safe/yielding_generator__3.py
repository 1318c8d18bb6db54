"""A generator inside a generator takes goods off in one locked step before the yield."""

import threading


class Stock:
    def __init__(self, goods):
        self.goods = goods
        self.lock = threading.Lock()

    def picked(self, count):
        with self.lock:
            there = self.goods
            self.goods = there - count
        yield f"{count} of {there}"

    def orders(self, counts):
        for count in counts:
            yield from self.picked(count)


stock = Stock(1000)


def packer():
    boxes = list(stock.orders([1, 2] * 25))
    return len(boxes)


threads = [threading.Thread(target=packer) for _ in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print("goods" if stock.goods == 775 else "broken: goods", stock.goods, "of 775")
