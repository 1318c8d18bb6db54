# expect: OrderBook.cancel
# within: trader

"""Orders by price: the volume at a price is looked up, and then what was looked up less one order is stored."""

import threading
from decimal import Decimal


class OrderBook:
    def __init__(self, volume):
        self.levels = dict.fromkeys((Decimal("9.90"), Decimal("9.95")), volume)
        self.lock = threading.Lock()

    def cancel(self, price, size):
        volume = None
        with self.lock:
            volume = self.levels[price]  # bug
        left = volume - size
        with self.lock:
            self.levels[price] = left  # bug


book = OrderBook(400)


def trader(price):
    for _ in range(50):
        book.cancel(Decimal(price), 2)


threads = [threading.Thread(target=trader, args=(p,)) for p in ("9.90", "9.9", "9.95", "9.950")]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(*(f"broken: {left} at {price}" if left != 200 else f"{price} fine" for price, left in book.levels.items()))
