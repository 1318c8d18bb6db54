"""One machine under two names in a function: its locked method does the whole step."""

import threading


class Machine:
    def __init__(self):
        self.lock = threading.Lock()
        self.pieces = 0

    def get(self):
        with self.lock:
            return self.pieces

    def set(self, pieces):
        with self.lock:
            self.pieces = pieces

    def add(self, pieces):
        with self.lock:
            self.pieces += pieces


press = Machine()


def work(machine):
    same = machine
    same.add(1)


def shift():
    for _ in range(60):
        work(press)


threads = [threading.Thread(target=shift) for _ in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print("pieces" if press.get() == 180 else "broken: pieces", press.get())
