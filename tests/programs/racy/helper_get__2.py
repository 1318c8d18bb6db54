# expect: advance
# within: pilgrim

"""Where a pilgrim is comes back through two functions, in a pair with the name of the road."""

import threading


class Road:
    def __init__(self, name):
        self.name = name
        self.lock = threading.RLock()
        self._mile = 0

    @property
    def mile(self):
        with self.lock:
            return self._mile  # bug

    @mile.setter
    def mile(self, mile):
        with self.lock:
            self._mile = mile  # bug


def where(road):
    here = road.mile  # bug
    return road.name, here


def describe(road):
    name, mile = where(road)
    return {"name": name, "mile": mile}


def advance(road, by):
    told = describe(road)  # bug
    road.mile = told["mile"] + by  # bug


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
