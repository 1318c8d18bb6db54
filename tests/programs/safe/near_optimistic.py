"""A thermometer is set if nobody set it meanwhile, in the same hold as that is asked."""

import threading


class Gauge:
    def __init__(self):
        self.lock = threading.Lock()
        self.degrees, self.edition = 0, 0

    def look(self):
        with self.lock:
            return self.degrees, self.edition

    def put_if(self, edition, degrees):
        with self.lock:
            if self.edition == edition:
                self.degrees = degrees
                self.edition += 1


gauge = Gauge()


def heat():
    degrees, edition = gauge.look()
    gauge.put_if(edition, degrees + 1)


def boiler():
    for _ in range(40):
        heat()


threads = [threading.Thread(target=boiler) for _ in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print("heated" if gauge.degrees == gauge.edition else "broken: heated", gauge.degrees, "of", gauge.edition)
