"""The order is finished before it is handed over."""

import queue
import threading


class Order:
    def __init__(self, total):
        self.total = total


orders = queue.Queue()


def submit(n):
    order = Order(n)
    for tax in (1, 2, 3, 4, 5, 6):
        order.total += tax
    orders.put(order)


def producer():
    for n in range(60):
        submit(n)
    orders.put(None)


def consumer():
    while True:
        order = orders.get()
        if order is None:
            break
        order.total += 100


threads = [threading.Thread(target=producer), threading.Thread(target=consumer)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(orders.empty())
