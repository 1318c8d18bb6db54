# expect: Office.work
# within: worker

"""Who works at a desk is noted while it lasts, by the desk: of two who share one, one removes the other's note."""

import threading
import time


class Office:
    def __init__(self):
        self.notes = {}

    def work(self, desk, me):
        self.notes[desk] = me  # bug
        time.sleep(0)
        self.notes.pop(desk, None)  # bug


office = Office()


def worker(desk, me):
    for _ in range(50):
        office.work(desk, me)


places = [("window", "ann"), ("window", "bob"), ("door", "cid"), ("stairs", "dan")]
threads = [threading.Thread(target=worker, args=place) for place in places]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(len(office.notes))
