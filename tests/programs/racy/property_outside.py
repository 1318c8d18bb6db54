# expect: spend
# within: worker

"""A property whose getter is locked, and a method that is: whoever looks at one before the other holds no lock."""

import threading


class Account:
    def __init__(self):
        self._lock = threading.Lock()
        self._balance = 10

    @property
    def balance(self):
        with self._lock:
            return self._balance  # bug

    @balance.setter
    def balance(self, balance):
        with self._lock:
            self._balance = balance  # bug

    def withdraw(self, amount):
        with self._lock:
            self._balance -= amount  # bug


account = Account()


def spend(account, amount):
    if account.balance >= amount:  # bug
        account.withdraw(amount)  # bug
    else:
        account.balance += 100  # bug


def worker():
    for i in range(100):
        spend(account, i % 3)


threads = [threading.Thread(target=worker) for _ in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(type(account.balance).__name__)
