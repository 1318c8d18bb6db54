"""Two questions in one condition: by the time that the second is answered, the first may be wrong."""

import threading


class Shelf:
    def __init__(self):
        self.lock = threading.Lock()
        self.stock = 0
        self.is_open = True

    def opened(self):
        with self.lock:
            return self.is_open

    def refill(self):
        added = 0
        for _ in range(4):
            if self.opened():
                with self.lock:
                    if self.stock < 100:
                        self.stock = self.stock + 1
                        added += 1
        return added


shelf = Shelf()
added = []


def keeper():
    for _ in range(30):
        added.append(shelf.refill())


threads = [threading.Thread(target=keeper) for _ in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print("stock" if shelf.stock == 100 == sum(added) else "broken: stock", shelf.stock, "of", sum(added))
