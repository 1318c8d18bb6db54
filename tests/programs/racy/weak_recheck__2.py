# expect: Purse.pay
# within: shopper

"""Payment of a purse: amount and block are looked at without the lock, and under the lock only the block."""

import threading


class Purse:
    def __init__(self, coins):
        self.coins = coins
        self.is_blocked = False
        self.lock = threading.Lock()

    def pay(self, price):
        if self.is_blocked or self.coins < price:  # bug
            return False
        with self.lock:
            if self.is_blocked:
                return False
            self.coins -= price  # bug
            return True


purses = [Purse(5) for _ in range(80)]


def shopper():
    for purse in purses:
        purse.pay(3)


threads = [threading.Thread(target=shopper) for _ in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
overdrawn = sum(purse.coins < 0 for purse in purses)
print(f"broken: {overdrawn} purses are overdrawn" if overdrawn else "nothing overdrawn")
