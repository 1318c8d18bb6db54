# expect: submit
# within: producer

"""The order is changed after it was handed over."""

import queue
import threading


class Order:
    def __init__(self, total):
        self.total = total


orders = queue.Queue()


def submit(n):
    order = Order(n)
    orders.put(order)  # bug
    for tax in (1, 2, 3, 4, 5, 6):
        order.total += tax  # bug


def producer():
    for n in range(60):
        submit(n)
    orders.put(None)


def consumer():
    while True:
        order = orders.get()
        if order is None:
            break
        order.total += 100  # bug


threads = [threading.Thread(target=producer), threading.Thread(target=consumer)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(orders.empty())
