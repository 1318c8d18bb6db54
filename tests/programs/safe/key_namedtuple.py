"""Seats of a hall by row and number: looked at and sold under one lock."""

import threading
from typing import NamedTuple


class Seat(NamedTuple):
    row: str
    number: int


class Hall:
    def __init__(self):
        self.lock = threading.Lock()
        self.buyer = {Seat(row, n): None for row in "AB" for n in range(40)}

    def sell(self, seat, name):
        with self.lock:
            if self.buyer[seat] is not None:
                return 0
            self.buyer[seat] = name
        return 1


hall = Hall()
sold = []


def till(name):
    for row in "AB":
        for n in range(40):
            sold.append(hall.sell(Seat(row, n), name))


threads = [threading.Thread(target=till, args=(name,)) for name in ("east", "west")]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(f"broken: {sum(sold)} tickets for 80 seats" if sum(sold) > 80 else "80 tickets")
