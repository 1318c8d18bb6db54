"""A bicycle is taken from the rack, ridden, and put back. Nobody else has it meanwhile."""

import threading


class Rack:
    def __init__(self, bicycles):
        self.lock = threading.Lock()
        self.bicycles = [{"id": n, "rides": 0} for n in range(bicycles)]

    def ride(self):
        with self.lock:
            if not self.bicycles:
                return
            bicycle = self.bicycles.pop()
        bicycle["rides"] += 1
        with self.lock:
            self.bicycles.append(bicycle)


rack = Rack(3)


def rider():
    for _ in range(60):
        rack.ride()


threads = [threading.Thread(target=rider) for _ in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
rides = sum(bicycle["rides"] for bicycle in rack.bicycles)
print("rides" if rides == 180 else "broken: rides", rides)
