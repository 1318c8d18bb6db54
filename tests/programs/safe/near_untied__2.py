"""One call raises if there is too little, and takes what is needed otherwise."""

import threading


class TooLittleError(Exception):
    pass


class Wallet:
    def __init__(self, cents):
        self.lock = threading.RLock()
        self.cents = cents

    def demand(self, cents):
        with self.lock:
            if self.cents < cents:
                raise TooLittleError

    def remove(self, cents):
        with self.lock:
            self.cents -= cents

    def pay(self, cents):
        try:
            with self.lock:
                self.demand(cents)
                self.remove(cents)
        except TooLittleError:
            return


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
