"""A look and a step under one lock."""

import threading


class Stock:
    def __init__(self):
        self.count = 0
        self.lock = threading.RLock()

    def has(self):
        with self.lock:
            if self.count > 0:
                return "there is one"
            return ""

    def take(self):
        with self.lock:
            self.count -= 1

    def supply(self):
        with self.lock:
            self.count += 1


def buy(stock):
    with stock.lock:
        if stock.has():
            stock.take()


def customer(stock):
    for _ in range(100):
        buy(stock)


def supplier(stock):
    for _ in range(60):
        stock.supply()


stock = Stock()
threads = [threading.Thread(target=t, args=(stock,)) for t in (customer, customer, supplier)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(stock.count)
