# expect: Seats.take
# within: worker

"""Two threads both find the seat among the free ones."""

import threading


class Seats:
    def __init__(self):
        self.free = {0, 1, 2}

    def take(self, seat):
        if seat in self.free:  # bug
            self.free.discard(seat)  # bug
            return True
        return False

    def leave(self, seat):
        self.free.add(seat)  # bug


seats = Seats()


def worker():
    for i in range(200):
        if i % 2:
            seats.leave(i % 3)
        else:
            seats.take(i % 3)


threads = [threading.Thread(target=worker) for _ in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(len(seats.free) <= 3)
