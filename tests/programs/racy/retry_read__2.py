# expect: Meter.advance
# within: driver

"""The standard library calls back to read the meter; what it hands on is written afterwards."""

import contextvars
import threading


class Meter:
    def __init__(self):
        self.lock = threading.Lock()
        self.kilometres = 0

    def read(self):
        with self.lock:
            return self.kilometres  # bug

    def write(self, kilometres):
        with self.lock:
            self.kilometres = kilometres  # bug

    def drive(self):
        with self.lock:
            self.kilometres += 1

    def advance(self):
        context = contextvars.copy_context()
        before = context.run(self.read)  # bug
        self.write(before + 1)  # bug


meter = Meter()


def driver():
    for _ in range(60):
        meter.advance()


threads = [threading.Thread(target=driver) for _ in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(meter.read(), "km" if meter.read() == 180 else "km, broken: should be 180")
