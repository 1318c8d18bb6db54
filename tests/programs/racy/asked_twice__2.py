# expect: reserve
# within: Guest.run

"""Whether a table is free is asked in a loop, together with what the kitchen says."""

import threading

free = dict.fromkeys(range(30), True)
reserved = []
lock = threading.Lock()


class Kitchen:
    def __init__(self):
        self.full = False

    def is_full(self):
        with lock:
            return self.full


kitchen = Kitchen()


def reserve(guest):
    for number in range(30):
        if not (kitchen.is_full() or not free[number]) and not kitchen.is_full():  # bug
            free[number] = False  # bug
            reserved.append((guest, number))
            return


class Guest(threading.Thread):
    def run(self):
        for _ in range(10):
            reserve(self.name)


guests = [Guest() for _ in range(3)]
for guest in guests:
    guest.start()
for guest in guests:
    guest.join()
tables = [number for _, number in reserved]
print("reserved" if len(set(tables)) == len(tables) else "broken: reserved", len(tables))
