"""A statement of two totals: both are read before a helper lends the lock to others."""

import threading
from contextlib import contextmanager


@contextmanager
def lent(lock):
    lock.release()
    try:
        yield
    finally:
        lock.acquire()


class Ledger:
    def __init__(self):
        self.guard = threading.Lock()
        self.debit = 0
        self.credit = 0

    def post(self, amount):
        with self.guard:
            self.debit += amount
            self.credit += amount

    def statement(self):
        parts = []
        with self.guard:
            debit, credit = self.debit, self.credit
            with lent(self.guard):
                line = "-" * 10
            parts += [f"debit {debit}", line, f"credit {credit}"]
        return parts


ledger = Ledger()
statements = []


def clerk():
    for _ in range(60):
        statements.append(ledger.statement())


def poster():
    for amount in range(120):
        ledger.post(amount)


threads = [threading.Thread(target=clerk), threading.Thread(target=poster)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
wrong = [lines for lines in statements if lines[0].split()[1] != lines[-1].split()[1]]
print("broken:" if wrong else "balanced", *wrong[:1])
