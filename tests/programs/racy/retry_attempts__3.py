# expect: Seats.book
# within: Clerk.run

"""The `else` of a `try` takes the seat that was free when the attempt began."""

import threading


class Seats:
    def __init__(self, count):
        self.lock = threading.Lock()
        self.taken_by = [None] * count

    def confirm(self, seat):
        if seat % 5 == 4:
            raise ValueError(seat)

    def book(self, clerk):
        booked = 0
        for seat in range(len(self.taken_by)):
            if self.taken_by[seat] is None:  # bug
                try:
                    self.confirm(seat)
                except ValueError:
                    continue
                else:
                    self.taken_by[seat] = clerk  # bug
                    booked += 1
        return booked


class Clerk(threading.Thread):
    def __init__(self, seats):
        super().__init__()
        self.seats = seats
        self.booked = 0

    def run(self):
        for _ in range(3):
            self.booked += self.seats.book(self.name)


seats = Seats(40)
clerks = [Clerk(seats) for _ in range(3)]
for clerk in clerks:
    clerk.start()
for clerk in clerks:
    clerk.join()
sold = sum(clerk.booked for clerk in clerks)
print("sold" if sold == 32 else "broken: sold", sold, "of 32 seats")
