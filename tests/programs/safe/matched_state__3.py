"""A purse is matched by the positions of its fields, and what it holds is put back less one."""

import threading


class Purse:
    __match_args__ = ("coins", "notes")

    def __init__(self, coins, notes):
        self.coins = coins
        self.notes = notes
        self.hand = threading.Lock()

    def pay(self):
        with self.hand:
            match self:
                case Purse(0, [_, *rest]):
                    self.coins, self.notes = 100, rest
                case Purse(coins):
                    self.coins = coins - 1


purse = Purse(5000, [])


def spending():
    for _ in range(100):
        purse.pay()


threads = [threading.Thread(target=spending) for _ in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
if purse.coins != 4700:
    print("broken: coins came back")
print("paid")
