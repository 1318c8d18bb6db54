"""A helper adds to the locked store in one step."""

import threading


class Store:
    def __init__(self):
        self.lock = threading.Lock()
        self.items = {"nail": 0}

    def get(self, name):
        with self.lock:
            return self.items[name]

    def set(self, name, count):
        with self.lock:
            self.items[name] = count

    def add(self, name, count):
        with self.lock:
            self.items[name] += count


class Shop:
    def __init__(self):
        self.store = Store()

    def in_stock(self, name):
        return self.store.get(name)

    def restock(self, name, count):
        self.store.add(name, count)


shop = Shop()


def driver():
    for _ in range(50):
        shop.restock("nail", 10)


threads = [threading.Thread(target=driver) for _ in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
nails = shop.in_stock("nail")
print(nails if nails == 1500 else f"broken: {nails} nails of 1500")
