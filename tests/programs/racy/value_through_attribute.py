# expect: grow
# within: gardener

"""The height of a plant is kept in a note of one's own until it is written back."""

import threading
from types import SimpleNamespace


class Plant:
    def __init__(self):
        self._lock = threading.Lock()
        self._height = 0

    def measure(self):
        with self._lock:
            return self._height  # bug

    def record(self, height):
        with self._lock:
            self._height = height  # bug


plant = Plant()


def grow(by):
    note = SimpleNamespace(by=by)
    note.height = plant.measure()  # bug
    note.height += note.by
    plant.record(note.height)  # bug


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
