# expect: Stock.picked
# within: packer

"""A generator inside a generator takes goods off: how many there were is read before the yield, stored after it."""

import threading


class Stock:
    def __init__(self, goods):
        self.goods = goods
        self.lock = threading.Lock()

    def picked(self, count):
        there = self.goods  # bug
        yield f"{count} of {there}"
        self.goods = there - count  # bug

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
