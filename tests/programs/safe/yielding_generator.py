"""A generator hands out a price, and adds it to the takings in one step."""

import threading


class Till:
    def __init__(self):
        self.lock = threading.Lock()
        self.takings = 0

    def sales(self, prices):
        for price in prices:
            yield price
            with self.lock:
                self.takings += price


till = Till()


def seller():
    receipts = []
    for price in till.sales([2] * 60):
        receipts.append(f"{price} paid")


threads = [threading.Thread(target=seller) for _ in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print("takings" if till.takings == 360 else "broken: takings", till.takings, "of 360")
