"""An account and its log belong together, as the class says, though they are two objects."""

import threading

import atomsan


class Log:
    def __init__(self):
        self.total = 0

    def add(self, amount):
        self.total += amount


@atomsan.atomic_set("balance", "log.total")
class Account:
    def __init__(self):
        self.lock = threading.Lock()
        self.balance = 0
        self.log = Log()

    def deposit(self, amount):
        with self.lock:
            self.balance += amount
            self.log.add(amount)

    def seen(self):
        with self.lock:
            balance = self.balance
            return balance - self.log.total


def worker(account):
    for _ in range(50):
        account.deposit(1)
        account.seen()


account = Account()
threads = [threading.Thread(target=worker, args=(account,)) for _ in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(account.balance, account.log.total)
