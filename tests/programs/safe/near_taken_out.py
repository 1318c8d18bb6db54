"""A cart is filled under the lock."""

import threading


class Carts:
    def __init__(self):
        self.lock = threading.Lock()
        self.carts = {}

    def put_in(self, name, thing):
        with self.lock:
            cart = self.carts.pop(name, None)
            if cart is None:
                cart = []
            cart.append(thing)
            self.carts[name] = cart


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
