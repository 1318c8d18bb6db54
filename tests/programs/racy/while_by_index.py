# expect: Ledger.total
# within: reader

"""A sum over a list by index: what is booked in the meantime is in it by half."""

import threading


class Ledger:
    def __init__(self):
        self.lock = threading.Lock()
        self.amounts = []

    def book(self, amount):
        with self.lock:
            self.amounts.append(amount)
            self.amounts.append(-amount)

    def total(self):
        total = 0
        i = 0
        while i < len(self.amounts):  # bug
            total += self.amounts[i]  # bug
            i += 1
        return total


ledger = Ledger()


def writer():
    for amount in range(60):
        ledger.book(amount)


def reader():
    for _ in range(60):
        ledger.total()


threads = [threading.Thread(target=target) for target in (writer, writer, reader)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(len(ledger.amounts))
