"""The richest pays the poorest: the lock is held from the look to the payment."""

import operator
import threading


class Account:
    def __init__(self, name, balance):
        self.name = name
        self.balance = balance


class Bank:
    balance_of = operator.attrgetter("balance")

    def __init__(self):
        self.lock = threading.Lock()
        self.accounts = [Account(name, 100) for name in ("ann", "bob", "cyd")]

    def level(self):
        with self.lock:
            low, *_, high = sorted(self.accounts, key=Bank.balance_of)
            low_now, high_now = map(Bank.balance_of, (low, high))
            high.balance = high_now - 1
            low.balance = low_now + 1


bank = Bank()


def worker():
    for _ in range(100):
        bank.level()


threads = [threading.Thread(target=worker) for _ in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print("level" if sum(map(Bank.balance_of, bank.accounts)) == 300 else "broken: money came or went")
