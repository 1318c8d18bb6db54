# expect: Account.deposit
# within: worker

"""A property whose getter and setter are each locked; += takes the lock twice."""

import threading


class Account:
    def __init__(self):
        self.lock = threading.Lock()
        self._balance = 0

    @property
    def balance(self):
        with self.lock:
            return self._balance  # bug

    @balance.setter
    def balance(self, balance):
        with self.lock:
            self._balance = balance  # bug

    def deposit(self, amount):
        self.balance += amount  # bug


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
