"""The read and the write are one critical section, inside the account."""

import threading


class Account:
    def __init__(self):
        self.balance = 0
        self.lock = threading.Lock()

    def get(self):
        with self.lock:
            return self.balance

    def set(self, balance):
        with self.lock:
            self.balance = balance

    def add(self, amount):
        with self.lock:
            self.balance += amount


def deposit(account, amount):
    account.add(amount)


def worker(account):
    for _ in range(100):
        deposit(account, 1)


account = Account()
threads = [threading.Thread(target=worker, args=(account,)) for _ in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(account.get())
