"""The bank account of `bank.py` without its bug: a deposit holds the lock from the read to the write.

`python examples/bank_fixed.py`, or `atomsan run examples/bank_fixed.py`.
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

    def add(self, amount):
        with self.lock:
            self.balance += amount


def deposit(account, amount):
    account.add(amount)


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
