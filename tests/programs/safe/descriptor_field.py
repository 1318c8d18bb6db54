"""A field behind a descriptor of the program's own; whoever uses it holds the lock."""

import threading


class Number:
    def __set_name__(self, owner, name):
        self.name = name

    def __get__(self, instance, owner=None):
        return instance.__dict__[self.name]

    def __set__(self, instance, value):
        instance.__dict__[self.name] = int(value)


class Account:
    balance = Number()

    def __init__(self):
        self.lock = threading.Lock()
        self.balance = 0

    def deposit(self, amount):
        with self.lock:
            balance = self.balance
            self.balance = balance + amount


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
