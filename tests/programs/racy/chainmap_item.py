# expect: Settings.bump
# within: worker

"""A ChainMap reads through to the defaults and writes to its first map."""

import threading
from collections import ChainMap


class Settings:
    def __init__(self):
        self.values = ChainMap({}, {"size": 1, "depth": 1})

    def bump(self, name):
        self.values[name] = self.values[name] + 1  # bug


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
