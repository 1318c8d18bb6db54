"""A bank account whose every access is locked, and which loses money all the same.

`get` and `set` each hold the lock, so no data-race detector complains. But `deposit` takes the lock twice, and what
another thread deposits in between is overwritten. That is rare: AtomSan finds it in a run in which all is well.

    python examples/bank.py
    atomsan run examples/bank.py

`bank_fixed.py` is the same program without the bug.
"""

import threading

THREADS = 3
DEPOSITS = 300


class Account:
    def __init__(self):
        self.lock = threading.Lock()
        self.balance = 0

    def get(self):
        with self.lock:
            return self.balance

    def set(self, balance):
        with self.lock:
            self.balance = balance


def deposit(account, amount):
    balance = account.get()
    account.set(balance + amount)


def customer(account):
    for _ in range(DEPOSITS):
        deposit(account, 1)


def main():
    account = Account()
    customers = [threading.Thread(target=customer, args=(account,)) for _ in range(THREADS)]
    for thread in customers:
        thread.start()
    for thread in customers:
        thread.join()
    print(f"balance {account.get()}, should be {THREADS * DEPOSITS}")


if __name__ == "__main__":
    main()
