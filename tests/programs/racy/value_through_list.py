# expect: Register.ring
# within: cashier

"""The total of a register is put into a list of figures before it is changed and stored."""

import threading


class Register:
    def __init__(self):
        self.lock = threading.RLock()
        self._total = 0

    def total(self):
        with self.lock:
            return self._total  # bug

    def store(self, total):
        with self.lock:
            self._total = total  # bug

    def ring(self, price):
        figures = [price]
        figures.append(self.total())  # bug
        self.store(sum(figures))  # bug


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
