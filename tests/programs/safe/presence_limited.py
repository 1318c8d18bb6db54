"""Two may be in at a time, and a semaphore sees to it."""

import threading
import time


class Office:
    def __init__(self):
        self.places = threading.Semaphore(2)
        self.present = []

    def work(self, me):
        with self.places:
            self.present.append(me)
            time.sleep(0)
            self.present.remove(me)


office = Office()


def worker(me):
    for _ in range(50):
        office.work(me)


threads = [threading.Thread(target=worker, args=(given,)) for given in ("ann", "bob", "cid", "dan")]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(len(office.present))
