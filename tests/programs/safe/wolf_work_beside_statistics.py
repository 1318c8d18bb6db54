"""A locked change of one object, between two bumps of another: the paper's Account and Global."""

import threading


class Global:
    def __init__(self):
        self.lock = threading.Lock()
        self.operations = 0

    def count(self):
        with self.lock:
            self.operations += 1


class Account:
    def __init__(self, statistics):
        self.lock = threading.Lock()
        self.balance = 0
        self.statistics = statistics

    def deposit(self, amount):
        self.statistics.count()
        with self.lock:
            self.balance += amount
        self.statistics.count()


account = Account(Global())


def worker():
    for _ in range(80):
        account.deposit(1)


threads = [threading.Thread(target=worker) for _ in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(account.balance, account.statistics.operations)
