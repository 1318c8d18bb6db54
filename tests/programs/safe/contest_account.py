"""A transfer holds the locks of both accounts, that of the lower number first."""

import threading


class Account:
    def __init__(self, number, amount):
        self.number = number
        self.amount = amount
        self.lock = threading.Lock()

    def deposit(self, amount):
        with self.lock:
            self.amount += amount

    def withdraw(self, amount):
        with self.lock:
            self.amount -= amount

    def transfer(self, target, amount):
        first, second = (self, target) if self.number < target.number else (target, self)
        with first.lock, second.lock:
            self.amount -= amount
            target.amount += amount


class Bank:
    def __init__(self, size):
        self.accounts = [Account(number, 100) for number in range(size)]

    def after(self, account):
        return self.accounts[(account.number + 1) % len(self.accounts)]

    def total(self):
        return sum(account.amount for account in self.accounts)


class Clerk(threading.Thread):
    """Works on one account: all that comes in goes out again, to its neighbour."""

    def __init__(self, bank, number):
        super().__init__()
        self.bank = bank
        self.account = bank.accounts[number]

    def run(self):
        target = self.bank.after(self.account)
        for amount in range(1, 60):
            self.account.deposit(amount)
            self.account.transfer(target, amount)
            self.account.withdraw(1)


bank = Bank(3)
clerks = [Clerk(bank, number) for number in range(3)]
for clerk in clerks:
    clerk.start()
for clerk in clerks:
    clerk.join()
print(f"{bank.total()} in the bank, of {3 * 100 + 3 * sum(range(1, 60)) - 3 * 59}")
