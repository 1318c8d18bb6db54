"""A cost is added under a lock."""

import threading
import weakref


class Customer:
    pass


class Costs:
    def __init__(self):
        self.lock = threading.Lock()
        self.of = weakref.WeakKeyDictionary()

    def add(self, customer, cost):
        with self.lock:
            self.of[customer] = self.of.get(customer, 0) + cost


def buyer(costs, customer):
    for _ in range(60):
        costs.add(customer, 1)


costs, customer = Costs(), Customer()
threads = [threading.Thread(target=buyer, args=(costs, customer)) for _ in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print("broken: lost" if costs.of[customer] != 180 else "added")
