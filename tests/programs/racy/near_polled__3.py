# expect: Order.describe
# within: clerk

"""A flag is polled twice for one answer, which then says two things."""

import threading


class Order:
    def __init__(self):
        self.is_paid = False

    def pay(self):
        self.is_paid = True  # bug

    def refund(self):
        self.is_paid = False  # bug

    def describe(self):
        text = "paid" if self.is_paid else "open"  # bug
        return text, self.is_paid  # bug


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
