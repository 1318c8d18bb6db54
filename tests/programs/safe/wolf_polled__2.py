"""A bar shows how far a copy is: it polls a number that only one thread sets, until it is done."""

import threading


class Copy:
    def __init__(self, size):
        self.size = size
        self.done = 0

    def run(self):
        while self.done < self.size:
            self.done += 1


copy = Copy(100)
shown = []


def show(least):
    for _ in range(1000):
        if copy.done >= least:
            break
    shown.append(copy.done)


def bar():
    for least in (25, 50, 75):
        show(least)


def worker():
    copy.run()


threads = [threading.Thread(target=worker), threading.Thread(target=bar)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print("rising" if shown == sorted(shown) else "broken: it went back")
