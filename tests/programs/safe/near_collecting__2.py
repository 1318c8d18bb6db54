"""The free seats are collected and two of them booked while the plane is locked."""

import threading


class Plane:
    def __init__(self):
        self.lock = threading.RLock()
        self.seats = dict.fromkeys(range(12), "")
        self.sold = 0

    def is_free(self, seat):
        with self.lock:
            return not self.seats[seat]

    def take(self, seat, name):
        with self.lock:
            self.seats[seat] = name
            self.sold += 1


def book(plane, name):
    with plane.lock:
        free = [seat for seat in range(12) if plane.is_free(seat)]
        for seat in free[:2]:
            plane.take(seat, name)


planes = [Plane() for _ in range(30)]


def agent(name):
    for plane in planes:
        book(plane, name)
        book(plane, name)


threads = [threading.Thread(target=agent, args=(name,)) for name in ("ann", "bob")]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
twice = sum(plane.sold - sum(map(bool, plane.seats.values())) for plane in planes)
print(f"broken: {twice} seats were sold twice" if twice else "every seat was sold once")
