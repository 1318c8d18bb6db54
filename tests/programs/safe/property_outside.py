"""Properties and methods that are locked one by one, and used by others: where one rests on another, under the lock."""

import threading


class Account:
    def __init__(self):
        self.lock = threading.RLock()
        self._balance = 10
        self._spent = 0

    @property
    def balance(self):
        with self.lock:
            return self._balance

    @balance.setter
    def balance(self, balance):
        with self.lock:
            self._balance = balance

    @property
    def spent(self):
        with self.lock:
            return self._spent

    def withdraw(self, amount):
        with self.lock:
            self._balance -= amount
            self._spent += amount


account = Account()


def spend(account, amount):
    with account.lock:
        if account.balance >= amount:
            account.withdraw(amount)
        else:
            account.balance += 100


def shown(account):
    with account.lock:
        balance = account.balance
        spent = account.spent
    return f"{balance}, and {spent} spent"


def worker():
    for i in range(100):
        spend(account, i % 3)
        shown(account)


threads = [threading.Thread(target=worker) for _ in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(type(account.balance).__name__)
