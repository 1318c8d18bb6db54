"""Old entries are chosen under the lock, and each is looked at again under the lock before it is dropped."""

import threading


class Leases:
    def __init__(self):
        self.lock = threading.Lock()
        self.age = {}
        self.dropped_young = 0

    def renew(self, name):
        with self.lock:
            self.age[name] = 0

    def grow(self):
        with self.lock:
            for name in self.age:
                self.age[name] += 1

    def expire(self):
        with self.lock:
            old = [name for name, age in self.age.items() if age > 2]
        for name in old:
            with self.lock:
                if self.age.get(name, 0) > 2:
                    self.dropped_young += self.age[name] <= 2
                    del self.age[name]


leases = Leases()


def tenant(name):
    for _ in range(60):
        leases.renew(name)


def landlord():
    for _ in range(60):
        leases.grow()
        leases.expire()


threads = [threading.Thread(target=tenant, args=(n,)) for n in "ab"] + [threading.Thread(target=landlord)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print("fair" if not leases.dropped_young else "broken: dropped too young")
