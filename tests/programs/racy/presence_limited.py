# expect: Office.work
# within: worker

"""Two may be in at a time, and each looks first how many there are: two see the same place free."""

import threading
import time


class Office:
    def __init__(self):
        self.present = []

    def work(self, me):
        if len(self.present) < 2:  # bug
            self.present.append(me)  # bug
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
