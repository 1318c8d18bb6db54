"""Prices are worked out without the lock, and kept if the catalogue is still the same edition."""

import threading


class Catalogue:
    def __init__(self):
        self.lock = threading.Lock()
        self.edition = 0
        self.prices = {"tea": 100, "salt": 100}

    def raise_prices(self, by):
        done = False
        while not done:
            with self.lock:
                edition, prices = self.edition, dict(self.prices)
            higher = {name: price + by for name, price in prices.items()}
            with self.lock:
                if edition == self.edition:
                    self.prices = higher
                    self.edition += 1
                    done = True


catalogue = Catalogue()


def inflation():
    for _ in range(20):
        catalogue.raise_prices(1)


threads = [threading.Thread(target=inflation) for _ in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(catalogue.prices)
