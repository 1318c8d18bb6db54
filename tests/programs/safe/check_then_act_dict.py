"""Looking and taking are one critical section."""

import threading


class Seats:
    def __init__(self):
        self.taken = {}
        self.lock = threading.Lock()

    def reserve(self, seat, name):
        with self.lock:
            if seat not in self.taken:
                self.taken[seat] = name

    def cancel(self, seat):
        with self.lock:
            self.taken.pop(seat, None)


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
