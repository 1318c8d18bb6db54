"""Money goes from one purse to another, each locked by itself; nobody counts while it is on its way."""

import threading


class Purse:
    def __init__(self, coins):
        self.coins = coins
        self.lock = threading.Lock()

    def take(self, coins):
        with self.lock:
            if self.coins < coins:
                return False
            self.coins -= coins
            return True

    def put(self, coins):
        with self.lock:
            self.coins += coins


left, right = Purse(50), Purse(50)


def give(source, target, coins):
    if source.take(coins):
        target.put(coins)


def giver(source, target):
    for n in range(60):
        give(source, target, 1 + n % 3)


threads = [threading.Thread(target=giver, args=pair) for pair in ((left, right), (right, left))]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print("coins" if left.coins + right.coins == 100 else "broken: coins", left.coins + right.coins)
