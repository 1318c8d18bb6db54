"""Looked at, looked at again under the lock, and what was seen there is returned."""

import threading


class Config:
    def __init__(self):
        self.lock = threading.Lock()
        self.values = None

    def get(self):
        values = self.values
        if values is None:
            with self.lock:
                values = self.values
                if values is None:
                    values = self.values = {"colour": "red"}
        return values

    def reset(self):
        with self.lock:
            self.values = None


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
