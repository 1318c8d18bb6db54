"""Summed up and spent under one lock."""

import functools
import threading


class Purse:
    def __init__(self, coins):
        self.coins = coins


def coins_of(purse):
    return purse.coins


def larger(one, other):
    return one if one.coins >= other.coins else other


class Fund:
    def __init__(self):
        self.lock = threading.Lock()
        self.purses = [Purse(40) for _ in range(3)]

    def spend(self):
        with self.lock:
            if sum(map(coins_of, self.purses)) > 0:
                fullest = functools.reduce(larger, self.purses)
                left = fullest.coins - 1
                fullest.coins = left


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
