# expect: transfer
# within: worker

"""Two transfers from one account both find enough money in it."""

import threading


class Account:
    def __init__(self, balance):
        self.balance = balance


accounts = [Account(50) for _ in range(3)]


def transfer(source, target, amount):
    if source.balance >= amount:  # bug
        source.balance -= amount  # bug
        target.balance += amount  # bug


def worker(shift):
    for i in range(100):
        transfer(accounts[i % 3], accounts[(i + shift) % 3], 10)


threads = [threading.Thread(target=worker, args=(given,)) for given in (1, 2, 1)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(sum(account.balance for account in accounts))
