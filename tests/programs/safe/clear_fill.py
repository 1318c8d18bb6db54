"""A cache is cleared and filled by one locked call."""

import threading


class Cache:
    def __init__(self):
        self.lock = threading.Lock()
        self.entries = {}

    def clear(self):
        with self.lock:
            self.entries.clear()

    def fill(self):
        with self.lock:
            self.entries.update({"red": 1, "green": 2})

    def renew(self):
        with self.lock:
            self.entries.clear()
            self.entries.update({"red": 1, "green": 2})

    def has(self, name):
        with self.lock:
            return name in self.entries


cache = Cache()
cache.fill()


def refresh():
    cache.renew()


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
