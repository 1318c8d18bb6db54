# expect: Tank.fill
# within: hose

"""The level of a tank comes from a static helper with a default, and what is stored rests on it."""

import threading
from concurrent.futures import ThreadPoolExecutor


class Gauge:
    def __init__(self):
        self.mutex = threading.RLock()
        self.value = None

    def get(self):
        with self.mutex:
            return self.value  # bug

    def set(self, value):
        with self.mutex:
            self.value = value  # bug


class Tank:
    def __init__(self):
        self.gauge = Gauge()

    @staticmethod
    def known(gauge, otherwise):
        level = gauge.get()  # bug
        if level is None:
            return otherwise
        return level

    def fill(self, litres):
        level = Tank.known(self.gauge, 0)  # bug
        self.gauge.set(level + litres)  # bug


tank = Tank()


def hose(times):
    for _ in range(times):
        tank.fill(1)


with ThreadPoolExecutor(max_workers=3) as pool:
    for done in [pool.submit(hose, 60) for _ in range(3)]:
        done.result()
print("full" if tank.gauge.get() == 180 else f"broken: {tank.gauge.get()} of 180 litres")
