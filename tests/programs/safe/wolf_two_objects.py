"""Work on one object, a count on another before and after; both are locked, and nobody reads them together."""

import threading


class Locked:
    def __init__(self):
        self.lock = threading.Lock()
        self.number = 0

    def add(self, number):
        with self.lock:
            self.number += number


account, calls = Locked(), Locked()


def deposit(amount):
    calls.add(1)
    account.add(amount)
    calls.add(1)


def worker():
    for _ in range(60):
        deposit(3)


threads = [threading.Thread(target=worker) for _ in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print("fine" if (account.number, calls.number) == (540, 360) else "broken: sums")
