"""A worker calls two locked methods of one object, and neither needs what the other gave."""

import threading


class Meter:
    def __init__(self):
        self.lock = threading.Lock()
        self.rounds = 0
        self.weight = 0

    def round(self):
        with self.lock:
            self.rounds += 1

    def weigh(self, weight):
        with self.lock:
            self.weight += weight


meter = Meter()


def worker():
    for i in range(80):
        meter.round()
        meter.weigh(i)


threads = [threading.Thread(target=worker) for _ in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(meter.rounds, meter.weight)
