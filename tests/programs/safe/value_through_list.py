"""The total of a register is worked on through a list of figures under the lock."""

import threading


class Register:
    def __init__(self):
        self.lock = threading.RLock()
        self._total = 0

    def total(self):
        with self.lock:
            return self._total

    def store(self, total):
        with self.lock:
            self._total = total

    def ring(self, price):
        with self.lock:
            figures = [price]
            figures.append(self.total())
            self.store(sum(figures))


register = Register()


def cashier():
    for _ in range(60):
        register.ring(2)


threads = [threading.Thread(target=cashier) for _ in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print("total" if register.total() == 360 else "broken: total", register.total())
