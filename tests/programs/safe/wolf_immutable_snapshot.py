"""Both coordinates are in one immutable value, which is replaced as a whole."""

import threading
from typing import NamedTuple


class Point(NamedTuple):
    x: int
    y: int


class Ship:
    def __init__(self):
        self.place = Point(0, 0)

    def sail(self, n):
        self.place = Point(n, -n)

    def off_course(self):
        place = self.place
        return place.x + place.y


ship = Ship()


def sailing():
    for n in range(150):
        ship.sail(n)


def watching():
    for _ in range(150):
        ship.off_course()


threads = [threading.Thread(target=sailing), threading.Thread(target=watching), threading.Thread(target=watching)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(ship.off_course())
