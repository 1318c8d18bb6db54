"""A pool of boats: whether one is there is asked first, and asked again in the critical section that takes it."""

import threading


class Boats:
    def __init__(self, number):
        self.lock = threading.Lock()
        self.free = list(range(number))

    def any_free(self):
        with self.lock:
            return bool(self.free)

    def take(self):
        with self.lock:
            if not self.free:
                return None
            return self.free.pop()

    def give(self, boat):
        with self.lock:
            self.free.append(boat)


boats = Boats(2)
trips = []


def rower():
    for _ in range(50):
        if boats.any_free():
            boat = boats.take()
            if boat is not None:
                trips.append(boat)
                boats.give(boat)


threads = [threading.Thread(target=rower) for _ in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print("boats" if sorted(boats.free) == [0, 1] else "broken: boats", boats.free)
