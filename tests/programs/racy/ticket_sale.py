# expect: Flight.sell
# within: agent

"""The last seat is sold twice."""

import threading


class Flight:
    def __init__(self, seats):
        self.seats = seats
        self.sold = 0

    def sell(self):
        if self.sold < self.seats:  # bug
            self.sold += 1  # bug
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
