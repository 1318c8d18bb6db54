# expect: Account.deposit
# within: worker

"""A field behind a descriptor of the program's own, which keeps it in the instance's __dict__ and nowhere else."""

import threading


class Number:
    def __set_name__(self, owner, name):
        self.name = name

    def __get__(self, instance, owner=None):
        return instance.__dict__[self.name]  # bug

    def __set__(self, instance, value):
        instance.__dict__[self.name] = int(value)  # bug


class Account:
    balance = Number()

    def __init__(self):
        self.balance = 0

    def deposit(self, amount):
        balance = self.balance  # bug
        self.balance = balance + amount  # bug


account = Account()


def worker():
    for _ in range(100):
        account.deposit(1)


threads = [threading.Thread(target=worker) for _ in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(account.balance > 0)
