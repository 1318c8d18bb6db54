# expect: Wallet.spend
# within: shopping
# level: suspect

"""What is to be done to a wallet is a rule, compiled once; whether it may be done is asked before."""

import threading

RULE = compile("wallet.money = wallet.money - price\nwallet.bought += 1", "<rule>", "exec")


class Wallet:
    def __init__(self, money):
        self.money = money
        self.bought = 0

    def spend(self, price):
        if self.money >= price:  # bug
            exec(RULE, {"wallet": self, "price": price})
            return True
        return False


wallet = Wallet(90)


def shopping():
    for _ in range(40):
        wallet.spend(2)


threads = [threading.Thread(target=shopping) for _ in range(2)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
if wallet.money < 0 or wallet.money + 2 * wallet.bought != 90:
    print("broken: money", wallet.money)
print("shopped")
