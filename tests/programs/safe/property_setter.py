"""A property whose getter and setter are locked, and a method that holds the lock around both."""

import threading


class Account:
    def __init__(self):
        self.lock = threading.RLock()
        self._balance = 0

    @property
    def balance(self):
        with self.lock:
            return self._balance

    @balance.setter
    def balance(self, balance):
        with self.lock:
            self._balance = balance

    def deposit(self, amount):
        with self.lock:
            self.balance += amount


account = Account()


def worker():
    for _ in range(100):
        account.deposit(1)


threads = [threading.Thread(target=worker) for _ in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(account.balance)
