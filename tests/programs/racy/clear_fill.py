# expect: refresh
# within: updater
# level: suspect

"""A cache is cleared by one locked call and filled by another: who looks in between finds it empty."""

import threading


class Cache:
    def __init__(self):
        self.lock = threading.Lock()
        self.entries = {}

    def clear(self):
        with self.lock:
            self.entries.clear()  # bug

    def fill(self):
        with self.lock:
            self.entries.update({"red": 1, "green": 2})  # bug

    def renew(self):
        with self.lock:
            self.entries.clear()
            self.entries.update({"red": 1, "green": 2})

    def has(self, name):
        with self.lock:
            return name in self.entries  # bug


cache = Cache()
cache.fill()


def refresh():
    cache.clear()  # bug
    cache.fill()  # bug


def updater():
    for _ in range(60):
        refresh()


def painter():
    missing = 0
    for _ in range(60):
        missing += not cache.has("green")
    print(f"broken: no green {missing} times" if missing else "green was there")


threads = [threading.Thread(target=updater), threading.Thread(target=painter)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
