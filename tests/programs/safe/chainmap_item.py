"""A ChainMap, read and written under a lock."""

import threading
from collections import ChainMap


class Settings:
    def __init__(self):
        self.values = ChainMap({}, {"size": 1, "depth": 1})
        self.lock = threading.Lock()

    def bump(self, name):
        with self.lock:
            self.values[name] = self.values[name] + 1


settings = Settings()


def worker():
    for i in range(100):
        settings.bump("depth" if i % 2 else "size")


threads = [threading.Thread(target=worker) for _ in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(settings.values["size"], settings.values["depth"])
