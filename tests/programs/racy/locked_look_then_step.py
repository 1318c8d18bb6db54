"""A look under the lock, then a step under the lock: what was seen need not be so any more."""

# expect: buy
import threading


class Stock:
    def __init__(self):
        self.count = 0
        self.lock = threading.Lock()

    def has(self):
        with self.lock:
            if self.count > 0:  # bug
                return "there is one"
            return ""

    def take(self):
        with self.lock:
            self.count -= 1  # bug

    def supply(self):
        with self.lock:
            self.count += 1


def buy(stock):
    if stock.has():  # bug
        stock.take()  # bug


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
