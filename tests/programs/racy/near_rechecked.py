# expect: Config.get
# within: reader

"""Looked at, looked at again under the lock, and read a third time, when it may have been reset."""

import threading


class Config:
    def __init__(self):
        self.lock = threading.Lock()
        self.values = None

    def get(self):
        if self.values is None:
            with self.lock:
                if self.values is None:
                    self.values = {"colour": "red"}  # bug
        return self.values  # bug

    def reset(self):
        with self.lock:
            self.values = None  # bug


config = Config()
missing = []


def reader():
    for _ in range(80):
        if config.get() is None:
            missing.append(1)


def reloader():
    for _ in range(80):
        config.reset()


threads = [threading.Thread(target=reader), threading.Thread(target=reader), threading.Thread(target=reloader)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(f"broken: no values {len(missing)} times" if missing else "always values")
