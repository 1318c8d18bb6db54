# expect: Wallet.pay
# within: customer

"""The one call returns nothing: it raises if there is too little. The other one is made unless it did."""

import threading


class TooLittleError(Exception):
    pass


class Wallet:
    def __init__(self, cents):
        self.lock = threading.RLock()
        self.cents = cents

    def demand(self, cents):
        with self.lock:
            if self.cents < cents:  # bug
                raise TooLittleError

    def remove(self, cents):
        with self.lock:
            self.cents -= cents  # bug

    def pay(self, cents):
        try:
            self.demand(cents)  # bug
        except TooLittleError:
            return
        self.remove(cents)  # bug


wallets = [Wallet(10) for _ in range(80)]


def customer():
    for wallet in wallets:
        wallet.pay(7)


threads = [threading.Thread(target=customer) for _ in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
below = [wallet.cents for wallet in wallets if wallet.cents < 0]
print(f"broken: {below[0]} cents in a wallet" if below else "no debts")
