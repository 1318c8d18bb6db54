"""A counter that is written without waiting: what was read is handed back, and must still be there."""

import threading
import time


class Meter:
    def __init__(self):
        self.lock = threading.Lock()
        self.units = 0

    def now(self):
        with self.lock:
            return self.units

    def replace(self, before, after):
        with self.lock:
            if self.units != before:
                return False
            self.units = after
            return True


meter = Meter()


def use(units):
    while True:
        before = meter.now()
        time.sleep(0)
        if meter.replace(before, before + units):
            return


def household():
    for units in range(1, 21):
        use(units)


threads = [threading.Thread(target=household) for _ in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(meter.now())
