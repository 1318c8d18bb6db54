"""A vector is made of another one, which changes: its items are copied in one step."""

import threading


class Vector:
    def __init__(self, other=None):
        self.lock = threading.Lock()
        self.items = []
        if other is not None:
            self.items = other.copied()

    def copied(self):
        with self.lock:
            count = len(self.items)
            return self.items[:count] + [None] * (count - len(self.items))

    def add(self, item):
        with self.lock:
            self.items.append(item)

    def clear(self):
        with self.lock:
            self.items.clear()


source = Vector()
torn = []


def change():
    for number in range(60):
        for part in range(3):
            source.add((number, part))
        source.clear()


def copy():
    for _ in range(60):
        if None in Vector(source).items:
            torn.append(1)


threads = [threading.Thread(target=change), threading.Thread(target=copy)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(f"broken: {len(torn)} copies have holes" if torn else "copied")
