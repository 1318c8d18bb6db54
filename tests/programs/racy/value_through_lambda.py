# expect: Level.rise
# within: pipe

"""The level is read by a lambda that is called now, and set by one that is called later."""

import threading


class Level:
    def __init__(self):
        self.lock = threading.RLock()
        self.height = 0

    def get(self):
        with self.lock:
            return self.height  # bug

    def set(self, height):
        with self.lock:
            self.height = height  # bug

    def rise(self, by):
        read = lambda: self.get()  # noqa: E731  # bug
        height = read()  # bug
        later = lambda: self.set(height + by)  # noqa: E731  # bug
        later()  # bug


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
