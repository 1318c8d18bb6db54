# expect: deposit

"""The function that changes the balance is itself what each thread runs, once."""

import threading


class Account:
    def __init__(self):
        self.balance = 0
        self.lock = threading.Lock()


account = Account()


def deposit(amount):
    balance = account.balance  # bug
    fee = amount // 100
    account.balance = balance + amount - fee  # bug


def main():
    for _ in range(50):
        threads = [threading.Thread(target=deposit, args=(10,)) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    print(account.balance)


main()
