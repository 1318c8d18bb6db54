"""A hundred balances in one list: a transfer takes and gives in one critical section; an audit sums up."""

import threading


class Bank:
    def __init__(self, size):
        self.lock = threading.Lock()
        self.balances = [10] * size

    def transfer(self, source, target, amount):
        with self.lock:
            self.balances[source] -= amount
            self.balances[target] += amount

    def audit(self):
        with self.lock:
            return sum(self.balances)


bank = Bank(100)


def teller():
    for n in range(60):
        bank.transfer(n % 100, (n * 7 + 3) % 100, 1)


def auditor():
    wrong = 0
    for _ in range(60):
        wrong += bank.audit() != 1000
    print(f"broken: {wrong} audits saw money on its way" if wrong else "every audit was right")


threads = [threading.Thread(target=work) for work in (teller, teller, auditor)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
