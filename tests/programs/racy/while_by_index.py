# expect: Ledger.book
# within: writer

"""A sum over a list by index, without the lock: it sees a booking half done."""

import threading


class Ledger:
    def __init__(self):
        self.lock = threading.Lock()
        self.amounts = []

    def book(self, amount):
        with self.lock:
            self.amounts.append(amount)  # bug
            self.amounts.append(-amount)  # bug

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
