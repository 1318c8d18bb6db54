# expect: bump
# within: client

"""A reading is tried up to three times by a helper that is given a function; the new value rests on what it gave."""

import threading


def retry(function, attempts=3):
    for attempt in range(attempts):
        try:
            return function()
        except KeyError:
            if attempt == attempts - 1:
                raise
    return None


class Remote:
    def __init__(self):
        self.lock = threading.Lock()
        self.values = {"n": 0}

    def read(self, name):
        with self.lock:
            return self.values[name]  # bug

    def write(self, name, value):
        with self.lock:
            self.values[name] = value  # bug

    def bump(self, name):
        with self.lock:
            self.values[name] += 1


remote = Remote()


def bump():
    value = retry(lambda: remote.read("n"))  # bug
    remote.write("n", value + 1)  # bug


def client():
    for _ in range(60):
        bump()


threads = [threading.Thread(target=client) for _ in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print("n is" if remote.read("n") == 180 else "broken: n is", remote.read("n"))
