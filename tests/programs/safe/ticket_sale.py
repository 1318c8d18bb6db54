"""Looking and selling are one critical section."""

import threading


class Flight:
    def __init__(self, seats):
        self.seats = seats
        self.sold = 0
        self.lock = threading.Lock()

    def sell(self):
        with self.lock:
            if self.sold < self.seats:
                self.sold += 1
                return True
            return False


flight = Flight(200)


def agent():
    for _ in range(80):
        flight.sell()


threads = [threading.Thread(target=agent) for _ in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(flight.sold)
