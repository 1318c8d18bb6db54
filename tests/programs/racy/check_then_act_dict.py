# expect: Seats.reserve
# within: worker

"""Two customers both find the seat free."""

import threading


class Seats:
    def __init__(self):
        self.taken = {}

    def reserve(self, seat, name):
        if seat not in self.taken:  # bug
            self.taken[seat] = name  # bug

    def cancel(self, seat):
        self.taken.pop(seat, None)  # bug


seats = Seats()


def worker(name):
    for i in range(200):
        if i % 2:
            seats.cancel(i % 3)
        else:
            seats.reserve(i % 3, name)


threads = [threading.Thread(target=worker, args=(given,)) for given in ("ann", "bob", "cid")]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(len(seats.taken))
