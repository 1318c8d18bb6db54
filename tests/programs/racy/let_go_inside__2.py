# expect: Ledger.statement
# within: clerk

"""A statement of two totals: a helper lends the lock to others while the first one is printed."""

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
            self.debit += amount  # bug
            self.credit += amount  # bug

    def statement(self):
        parts = []
        with self.guard:
            parts = [f"debit {self.debit}"]  # bug
            with lent(self.guard):
                parts.append("-" * 10)
            parts.append(f"credit {self.credit}")  # bug
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
