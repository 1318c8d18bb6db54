# expect: deposit
# within: worker

"""Every access is locked, but the read and the write are two critical sections."""

import threading


class Account:
    def __init__(self):
        self.balance = 0
        self.lock = threading.Lock()

    def get(self):
        with self.lock:
            return self.balance  # bug

    def set(self, balance):
        with self.lock:
            self.balance = balance  # bug


def deposit(account, amount):
    balance = account.get()  # bug
    account.set(balance + amount)  # bug


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
