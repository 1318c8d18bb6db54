# expect: work
# within: shift

"""One machine under two names in a function: it is asked by the one and told by the other."""

import threading


class Machine:
    def __init__(self):
        self.lock = threading.Lock()
        self.pieces = 0

    def get(self):
        with self.lock:
            return self.pieces  # bug

    def set(self, pieces):
        with self.lock:
            self.pieces = pieces  # bug

    def add(self, pieces):
        with self.lock:
            self.pieces += pieces


press = Machine()


def work(machine):
    same = machine
    made = machine.get()  # bug
    same.set(made + 1)  # bug


def shift():
    for _ in range(60):
        work(press)


threads = [threading.Thread(target=shift) for _ in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print("pieces" if press.get() == 180 else "broken: pieces", press.get())
