# expect: Account.deposit
# within: depositing

"""Deposits exclude deposits and withdrawals exclude withdrawals, but they do not exclude each other."""

import threading


class Account:
    def __init__(self):
        self.balance = 1000
        self.depositing = threading.Lock()
        self.withdrawing = threading.Lock()

    def deposit(self, amount):
        with self.depositing:
            self.balance += amount  # bug

    def withdraw(self, amount):
        with self.withdrawing:
            self.balance -= amount  # bug


account = Account()


def depositing():
    for _ in range(150):
        account.deposit(1)


def withdrawing():
    for _ in range(150):
        account.withdraw(1)


threads = [
    threading.Thread(target=depositing),
    threading.Thread(target=withdrawing),
    threading.Thread(target=depositing),
]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(account.balance)
