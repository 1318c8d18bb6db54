"""One locked call for each kilometre, which counts on from where the meter is."""

import threading


class Odometer:
    def __init__(self):
        self.lock = threading.Lock()
        self.kilometres = 0

    def get(self):
        with self.lock:
            return self.kilometres

    def set(self, kilometres):
        with self.lock:
            self.kilometres = kilometres

    def add(self, kilometres):
        with self.lock:
            self.kilometres += kilometres

    def drive(self, distance):
        for _ in range(distance):
            self.add(1)


odometer = Odometer()


def driver():
    for _ in range(20):
        odometer.drive(3)


threads = [threading.Thread(target=driver) for _ in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print("driven" if odometer.get() == 180 else "broken: driven", odometer.get())
