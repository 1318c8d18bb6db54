# expect: Tab.pay_from
# within: payer

"""All credit is taken off, some is spent, and the rest is put in the place of whatever was paid in meanwhile."""

import threading


class Tab:
    def __init__(self, credit):
        self.credit = credit
        self.lock = threading.Lock()

    def pay_in(self, amount):
        with self.lock:
            self.credit += amount  # bug

    def pay_from(self, cost):
        with self.lock:
            mine, self.credit = self.credit, 0  # bug
        rest = mine - cost
        with self.lock:
            self.credit = rest  # bug


tab = Tab(1000)


def payer():
    for _ in range(60):
        tab.pay_from(5)


def sponsor():
    for _ in range(60):
        tab.pay_in(5)


threads = [threading.Thread(target=payer), threading.Thread(target=sponsor)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print("credit" if tab.credit == 1000 else "broken: credit", tab.credit)
