# expect: charge
# within: till

"""Each attempt reads what is left, and writes it back where the attempt has failed."""

import threading


class Budget:
    def __init__(self):
        self.lock = threading.Lock()
        self.left = 400


class BusyError(Exception):
    pass


budget = Budget()


def ask(attempt):
    if attempt < 2:
        raise BusyError


def charge():
    for attempt in range(3):
        left = budget.left  # bug
        try:
            ask(attempt)
            return
        except BusyError:
            budget.left = left - 1  # bug


def till():
    for _ in range(50):
        charge()


threads = [threading.Thread(target=till) for _ in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print("left is" if budget.left == 100 else "broken: left is", budget.left)
