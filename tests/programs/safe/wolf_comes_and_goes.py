"""Each thread is on the lists while it works, under its own name: others come and go in between, and nobody minds."""

import threading
import time


class Office:
    def __init__(self):
        self.names = []
        self.badges = set()
        self.desks = {}
        self.phones = {}

    def listed(self, me):
        self.names.append(me)
        time.sleep(0)
        self.names.remove(me)

    def badged(self, me):
        self.badges.add(me)
        time.sleep(0)
        self.badges.discard(me)

    def seated(self, me):
        self.desks[me] = "taken"
        time.sleep(0)
        del self.desks[me]

    def called(self, me):
        self.phones.setdefault(me, 0)
        time.sleep(0)
        self.phones.pop(me)


office = Office()


def worker(me):
    for _ in range(30):
        office.listed(me)
        office.badged(me)
        office.seated(me)
        office.called(me)


threads = [threading.Thread(target=worker, args=(given,)) for given in ("ann", "bob", "cid")]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(len(office.names), len(office.badges), len(office.desks), len(office.phones))
