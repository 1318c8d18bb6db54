"""A method that holds a re-entrant lock calls others that take it again."""

import threading


class Account:
    def __init__(self):
        self.lock = threading.RLock()
        self.balance = 0
        self.moves = 0

    def get(self):
        with self.lock:
            return self.balance

    def set(self, balance):
        with self.lock:
            self.balance = balance
            self.moves += 1

    def deposit(self, amount):
        with self.lock:
            self.set(self.get() + amount)


account = Account()


def worker():
    for _ in range(80):
        account.deposit(1)


threads = [threading.Thread(target=worker) for _ in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(account.balance, account.moves)
