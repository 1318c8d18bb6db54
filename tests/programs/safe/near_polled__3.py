"""A flag is polled once for one answer."""

import threading


class Order:
    def __init__(self):
        self.is_paid = False

    def pay(self):
        self.is_paid = True

    def refund(self):
        self.is_paid = False

    def describe(self):
        is_paid = self.is_paid
        return "paid" if is_paid else "open", is_paid


order = Order()
texts = set()


def clerk():
    for _ in range(100):
        texts.add(order.describe())


def customer():
    for _ in range(60):
        order.pay()
        order.refund()


threads = [threading.Thread(target=clerk), threading.Thread(target=customer)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
absurd = texts - {("paid", True), ("open", False)}
print("broken:" if absurd else "texts fit", *absurd)
