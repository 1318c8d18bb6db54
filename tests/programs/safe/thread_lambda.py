"""Each thread gets a lambda, which calls the function with the loop. Each till takes its loaf in one hold."""

import threading

stock = {"bread": 300}
stock_lock = threading.Lock()
sold = []


def take(article):
    with stock_lock:
        stock[article] -= 1


def sell(till, times):
    for _ in range(times):
        take("bread")
        sold.append(till)


def main():
    threads = [threading.Thread(target=lambda till=till: sell(till, 80)) for till in ("front", "back", "drive-in")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    left = stock["bread"]
    print("broken: too much is left" if left + len(sold) != 300 else "the stock is right", left)


main()
