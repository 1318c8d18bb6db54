"""One lock for one datum."""

import threading


class Account:
    def __init__(self):
        self.balance = 1000
        self.lock = threading.Lock()

    def deposit(self, amount):
        with self.lock:
            self.balance += amount

    def withdraw(self, amount):
        with self.lock:
            self.balance -= amount


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
