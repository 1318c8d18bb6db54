"""Lowest and highest value, both read before the lock is let go."""

import threading
import time


class Sensor:
    def __init__(self):
        self.lock = threading.Lock()
        self.low = 0
        self.high = 1

    def move(self, by):
        with self.lock:
            self.low += by
            self.high += by

    def range(self):
        with self.lock:
            low = self.low
            high = self.high
            self.lock.release()
            time.sleep(0)
            self.lock.acquire()
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
