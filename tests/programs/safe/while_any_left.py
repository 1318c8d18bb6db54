"""A thread goes on while there is work, and one locked call both asks and takes."""

import threading


class Belt:
    def __init__(self, parcels):
        self.lock = threading.Lock()
        self.parcels = list(range(parcels))

    def unload(self):
        with self.lock:
            return self.parcels.pop() if self.parcels else None


belt = Belt(90)
unloaded, failures = [], []


def drainer():
    try:
        while (parcel := belt.unload()) is not None:
            unloaded.append(parcel)
    except IndexError as error:
        failures.append(str(error))


drainers = [threading.Thread(target=drainer) for _ in range(3)]
for one in drainers:
    one.start()
for one in drainers:
    one.join()
print("unloaded" if not failures else "broken: unloaded", len(unloaded), *failures)
