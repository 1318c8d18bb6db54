# expect: heat
# within: boiler

"""A thermometer is set if nobody set it meanwhile; but that is asked in a hold of its own."""

import threading


class Gauge:
    def __init__(self):
        self.lock = threading.Lock()
        self.degrees, self.edition = 0, 0

    def look(self):
        with self.lock:
            return self.degrees, self.edition  # bug

    def is_current(self, edition):
        with self.lock:
            return self.edition == edition

    def put(self, degrees):
        with self.lock:
            self.degrees = degrees  # bug
            self.edition += 1


gauge = Gauge()


def heat():
    degrees, edition = gauge.look()  # bug
    if gauge.is_current(edition):
        gauge.put(degrees + 1)  # bug


def boiler():
    for _ in range(40):
        heat()


threads = [threading.Thread(target=boiler) for _ in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print("heated" if gauge.degrees == gauge.edition else "broken: heated", gauge.degrees, "of", gauge.edition)
