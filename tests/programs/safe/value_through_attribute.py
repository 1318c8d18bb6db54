"""The height of a plant is kept in a note of one's own, and the greenhouse is locked meanwhile."""

import threading
from types import SimpleNamespace


class Plant:
    def __init__(self):
        self._lock = threading.Lock()
        self._height = 0

    def measure(self):
        with self._lock:
            return self._height

    def record(self, height):
        with self._lock:
            self._height = height


plant = Plant()
greenhouse = threading.Lock()


def grow(by):
    note = SimpleNamespace(by=by)
    with greenhouse:
        note.height = plant.measure()
        note.height += note.by
        plant.record(note.height)


def gardener():
    for _ in range(60):
        grow(1)


threads = [threading.Thread(target=gardener) for _ in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
if plant.measure() != 180:
    print("broken: height", plant.measure(), "after 180 centimetres")
print("grown")
