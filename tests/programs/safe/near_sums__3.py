"""Whether somebody fits and the load of a lift are one critical section."""

import threading
import time


class Lift:
    def __init__(self, limit):
        self.limit = limit
        self.load = 0
        self.most = 0
        self.lock = threading.Lock()

    def enter(self, weight):
        with self.lock:
            fits = self.load + weight <= self.limit
            if fits:
                self.load += weight
                self.most = max(self.most, self.load)
        return fits

    def leave(self, weight):
        with self.lock:
            self.load -= weight


lift = Lift(100)


def passenger(weight):
    for _ in range(60):
        if lift.enter(weight):
            time.sleep(0)
            lift.leave(weight)


threads = [threading.Thread(target=passenger, args=(weight,)) for weight in (60, 70, 80)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(f"broken: {lift.most} kilograms" if lift.most > 100 else f"at most {lift.most}")
