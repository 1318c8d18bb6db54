"""A sum and a product in one critical section."""

import threading

price = 100
lock = threading.Lock()


def reprice():
    global price
    with lock:
        price += 1
        price *= 2


def shop():
    for _ in range(50):
        reprice()


threads = [threading.Thread(target=shop) for _ in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
expected = 100
for _ in range(150):
    expected = (expected + 1) * 2
print("as expected" if price == expected else "broken: no order of repricing gives this price")
