"""Prices rise one after the other; each is read and written under the lock, which is let go between two of them."""

import threading

prices = dict.fromkeys("abcdefgh", 100)
lock = threading.Lock()


def raise_all(by):
    for name in prices:
        with lock:
            price = prices[name]
            prices[name] = price + by


def season():
    rounds = 8
    while rounds > 0:
        raise_all(5)
        rounds -= 1


threads = [threading.Thread(target=season) for _ in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print("prices" if set(prices.values()) == {220} else "broken: prices", *prices.values())
