"""Reading the price and keeping it are one critical section."""

import threading


class Prices:
    def __init__(self):
        self.lock = threading.Lock()
        self.store = {"tea": 3, "milk": 2}
        self.cache = {}

    def lookup(self, item):
        with self.lock:
            if item in self.cache:
                return self.cache[item]
            price = self.store[item]
            self.cache[item] = price
        return price

    def update(self, item, price):
        with self.lock:
            self.store[item] = price
            self.cache.pop(item, None)


prices = Prices()


def buyer():
    for _ in range(150):
        prices.lookup("tea")


def seller():
    for price in range(150):
        prices.update("tea", price)


threads = [threading.Thread(target=buyer), threading.Thread(target=buyer), threading.Thread(target=seller)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(prices.lookup("tea"), prices.store["tea"])
