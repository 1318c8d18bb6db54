"""Where a pilgrim is comes back through two functions, and the walk holds the lock meanwhile."""

import threading


class Road:
    def __init__(self, name):
        self.name = name
        self.lock = threading.RLock()
        self._mile = 0

    @property
    def mile(self):
        with self.lock:
            return self._mile

    @mile.setter
    def mile(self, mile):
        with self.lock:
            self._mile = mile


def where(road):
    here = road.mile
    return road.name, here


def describe(road):
    name, mile = where(road)
    return {"name": name, "mile": mile}


def advance(road, by):
    with road.lock:
        told = describe(road)
        road.mile = told["mile"] + by


camino = Road("camino")


def pilgrim():
    for _ in range(50):
        advance(camino, 3)


threads = [threading.Thread(target=pilgrim) for _ in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(camino.mile, "miles" if camino.mile == 450 else "miles, broken: should be 450")
