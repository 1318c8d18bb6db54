# expect: check_in
# within: desk

"""The free seat comes from the plane, goes into the list of passengers, and from there back to the plane."""

import threading


class Plane:
    def __init__(self, seats):
        self.lock = threading.Lock()
        self.free = list(range(seats))

    def first_free(self):
        with self.lock:
            return self.free[0]  # bug

    def block(self, seat):
        with self.lock:
            if seat in self.free:
                self.free.remove(seat)  # bug


class Passengers:
    def __init__(self):
        self.lock = threading.Lock()
        self.seats = {}

    def enter(self, name, seat):
        with self.lock:
            self.seats[name] = seat

    def seat_of(self, name):
        with self.lock:
            return self.seats[name]


plane, passengers = Plane(100), Passengers()


def check_in(name):
    seat = plane.first_free()  # bug
    passengers.enter(name, seat)
    plane.block(passengers.seat_of(name))  # bug


def desk(letter):
    for n in range(40):
        check_in(f"{letter}{n}")


threads = [threading.Thread(target=desk, args=(letter,)) for letter in "ab"]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
shared = 80 - len(set(passengers.seats.values()))
print(f"broken: {shared} seats for two" if shared else "a seat for each")
