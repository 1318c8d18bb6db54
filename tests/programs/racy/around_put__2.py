# expect: Meter.count
# within: reader

"""Whether there is a free slot is asked without waiting, by a semaphore: that makes no lock of what is around it."""

import threading


class Meter:
    def __init__(self):
        self.slots = threading.Semaphore(2)
        self.seen = 0

    def count(self):
        seen = self.seen  # bug
        if self.slots.acquire(blocking=False):
            self.slots.release()
        self.seen = seen + 1  # bug


def reader(meter):
    for _ in range(50):
        meter.count()


meter = Meter()
threads = [threading.Thread(target=reader, args=(meter,)) for _ in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print("broken: not counted" if meter.seen != 150 else "counted")
