# expect: Fund.spend
# within: spender

"""What is left is summed up by functions that `map` and `reduce` call, and spent after the look."""

import functools
import threading


class Purse:
    def __init__(self, coins):
        self.coins = coins


def coins_of(purse):
    return purse.coins  # bug


def larger(one, other):
    return one if one.coins >= other.coins else other  # bug


class Fund:
    def __init__(self):
        self.purses = [Purse(40) for _ in range(3)]

    def spend(self):
        if sum(map(coins_of, self.purses)) > 0:  # bug
            fullest = functools.reduce(larger, self.purses)
            left = fullest.coins - 1
            fullest.coins = left  # bug


def spender(fund):
    for _ in range(45):
        fund.spend()


fund = Fund()
threads = [threading.Thread(target=spender, args=(fund,)) for _ in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
left = [purse.coins for purse in fund.purses]
print("broken: spent twice" if any(left) else "spent")
