"""The level is read by one lambda and set by another, both under the lock."""

import threading


class Level:
    def __init__(self):
        self.lock = threading.RLock()
        self.height = 0

    def get(self):
        with self.lock:
            return self.height

    def set(self, height):
        with self.lock:
            self.height = height

    def rise(self, by):
        read = lambda: self.get()  # noqa: E731
        with self.lock:
            height = read()
            later = lambda: self.set(height + by)  # noqa: E731
            later()


level = Level()


def pipe(by):
    for _ in range(60):
        level.rise(by)


threads = [threading.Thread(target=pipe, args=(by,)) for by in (1, 2, 3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print("level" if level.height == 360 else "broken: level", level.height)
