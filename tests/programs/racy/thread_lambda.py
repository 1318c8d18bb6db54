# expect: sell

"""Each thread gets a lambda, which calls the function with the loop. Two tills look at one stock of bread."""

import threading

stock = {"bread": 300}
stock_lock = threading.Lock()
sold = []


def on_shelf(article):
    with stock_lock:
        return stock[article]  # bug


def set_shelf(article, count):
    with stock_lock:
        stock[article] = count  # bug


def sell(till, times):
    for _ in range(times):
        left = on_shelf("bread")  # bug
        set_shelf("bread", left - 1)  # bug
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
