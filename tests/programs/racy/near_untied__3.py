# expect: Valve.is_sane
# within: control

"""Two limits, by one locked call each; only a comparison needs them both."""

import threading


class Valve:
    def __init__(self):
        self._lock = threading.Lock()
        self._limits = {"low": 0, "high": 10}

    def shift(self, by):
        with self._lock:
            self._limits["low"] += by  # bug
            self._limits["high"] += by  # bug

    def limit(self, which):
        with self._lock:
            return self._limits[which]  # bug

    def limits(self):
        with self._lock:
            return self._limits["low"], self._limits["high"]

    def is_sane(self):
        high = self.limit("high")  # bug
        low = self.limit("low")  # bug
        return low < high


valve = Valve()


def control():
    insane = 0
    for _ in range(80):
        if not valve.is_sane():
            insane += 1
    print(f"broken: closed {insane} times" if insane else "sane")


def adapter():
    for n in range(120):
        valve.shift(20 if n % 2 else -20)


threads = [threading.Thread(target=control), threading.Thread(target=adapter)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
