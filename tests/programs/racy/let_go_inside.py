# expect: Sensor.range
# within: display

"""Lowest and highest value, read in one block of the lock that lets it go in its middle."""

import threading
import time


class Sensor:
    def __init__(self):
        self.lock = threading.Lock()
        self.low = 0
        self.high = 1

    def move(self, by):
        with self.lock:
            self.low += by  # bug
            self.high += by  # bug

    def range(self):
        with self.lock:
            low = self.low  # bug
            self.lock.release()
            time.sleep(0)
            self.lock.acquire()
            high = self.high  # bug
            return low, high


sensor = Sensor()


def display():
    odd = 0
    for _ in range(60):
        low, high = sensor.range()
        odd += high - low != 1
    print(f"broken: {odd} ranges were never there" if odd else "every range was there")


def source():
    for _ in range(120):
        sensor.move(1)


threads = [threading.Thread(target=display), threading.Thread(target=source)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
