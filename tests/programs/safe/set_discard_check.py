"""The test and the removal are one critical section."""

import threading


class Seats:
    def __init__(self):
        self.free = {0, 1, 2}
        self.lock = threading.Lock()

    def take(self, seat):
        with self.lock:
            if seat in self.free:
                self.free.discard(seat)
                return True
            return False

    def leave(self, seat):
        with self.lock:
            self.free.add(seat)


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
