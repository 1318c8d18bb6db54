"""Producers and consumers with a Condition, done right: the check is made again after each wait."""

import threading


class Buffer:
    def __init__(self, size):
        self.size = size
        self.items = []
        self.changed = threading.Condition()

    def put(self, item):
        with self.changed:
            while len(self.items) >= self.size:
                self.changed.wait()
            self.items.append(item)
            self.changed.notify_all()

    def get(self):
        with self.changed:
            while not self.items:
                self.changed.wait()
            item = self.items.pop(0)
            self.changed.notify_all()
            return item


buffer = Buffer(3)


def producer():
    for i in range(60):
        buffer.put(i)


def consumer():
    for _ in range(60):
        buffer.get()


threads = [
    threading.Thread(target=producer),
    threading.Thread(target=producer),
    threading.Thread(target=consumer),
    threading.Thread(target=consumer),
]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(len(buffer.items))
