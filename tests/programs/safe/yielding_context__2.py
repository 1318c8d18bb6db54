"""A method that is a context manager takes the price off what is left when the block is done."""

import threading
from contextlib import contextmanager


class Budget:
    def __init__(self, left):
        self.left = left
        self.lock = threading.Lock()

    @contextmanager
    def spending(self, price):
        try:
            yield price
        finally:
            with self.lock:
                self.left -= price

    def buy(self, price):
        with self.spending(price):
            return f"bought for {price}"


budget = Budget(1000)


def shopper():
    for _ in range(50):
        budget.buy(2)


threads = [threading.Thread(target=shopper) for _ in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print("left" if budget.left == 700 else "broken: left", budget.left, "of 700")
