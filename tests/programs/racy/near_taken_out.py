# expect: Carts.put_in
# within: shopper

"""A cart is taken out of the dict, filled and put back; who finds none meanwhile makes another one of the same name."""

import threading


class Carts:
    def __init__(self):
        self.lock = threading.Lock()
        self.carts = {}

    def put_in(self, name, thing):
        with self.lock:
            cart = self.carts.pop(name, None)  # bug
        if cart is None:
            cart = []
        cart.append(thing)
        with self.lock:
            self.carts[name] = cart  # bug


carts = Carts()


def shopper():
    for n in range(60):
        carts.put_in("family", n)


threads = [threading.Thread(target=shopper) for _ in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
things = len(carts.carts["family"])
print(f"broken: {180 - things} things are lost" if things != 180 else "nothing lost")
