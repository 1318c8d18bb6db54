"""An order that is open is taken by the one who sees so first."""

import threading


class Order:
    def __init__(self, dish):
        self.dish, self.state, self.cook = dish, "open", None


class Counter:
    def __init__(self):
        self.orders = [Order(f"dish {number}") for number in range(80)]
        self.cooked = []
        self.lock = threading.Lock()

    def take(self, order, cook):
        with self.lock:
            match order:
                case Order(state="open"):
                    order.state = "taken"
                    order.cook = cook
                    self.cooked.append(order.dish)
                case Order(state="taken"):
                    pass


counter = Counter()


def serving(cook):
    for order in counter.orders:
        counter.take(order, cook)


threads = [threading.Thread(target=serving, args=(cook,)) for cook in ("ann", "bob")]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
if len(counter.cooked) != len(counter.orders):
    print("broken: cooked twice")
print("served")
