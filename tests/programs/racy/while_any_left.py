# expect: drainer

"""A thread goes on while there is work, and takes what the others may have taken by then: two locked calls."""

import threading


class Belt:
    def __init__(self, parcels):
        self.lock = threading.Lock()
        self.parcels = list(range(parcels))

    def is_loaded(self):
        with self.lock:
            return bool(self.parcels)  # bug

    def unload(self):
        with self.lock:
            return self.parcels.pop()  # bug


belt = Belt(90)
unloaded, failures = [], []


def drainer():
    try:
        while belt.is_loaded():  # bug
            unloaded.append(belt.unload())  # bug
    except IndexError as error:
        failures.append(str(error))


drainers = [threading.Thread(target=drainer) for _ in range(3)]
for one in drainers:
    one.start()
for one in drainers:
    one.join()
print("unloaded" if not failures else "broken: unloaded", len(unloaded), *failures)
