# expect: Vector.__init__

"""A vector is made of another one, which changes: first its size is asked for, then so many items are copied."""

import threading


class Vector:
    def __init__(self, other=None):
        self.lock = threading.Lock()
        self.items = []
        if other is not None:
            count = other.size()  # bug
            self.items = other.copied(count)  # bug

    def size(self):
        with self.lock:
            return len(self.items)  # bug

    def copied(self, count):
        with self.lock:
            return self.items[:count] + [None] * (count - len(self.items))  # bug

    def add(self, item):
        with self.lock:
            self.items.append(item)  # bug

    def clear(self):
        with self.lock:
            self.items.clear()  # bug


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
