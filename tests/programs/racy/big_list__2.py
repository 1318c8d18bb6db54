# expect: carry
# within: porter

"""Bags in 66 lockers: one is carried from locker to locker in two locked steps while another counts them all."""

import threading

LOCKERS = 66
bags = [1 for _ in range(LOCKERS)]
door = threading.Lock()


def change(locker, by):
    with door:
        bags[locker] = bags[locker] + by  # bug


def carry(here, there):
    change(here, -1)  # bug
    change(there, +1)  # bug


def porter(step):
    place = 0
    for _ in range(60):
        target = (place + step) % LOCKERS
        carry(place, target)
        place = target


def count():
    with door:
        return sum(number for number in bags)  # bug


def inspector():
    for _ in range(60):
        found = count()
        if found != LOCKERS:
            print("broken: counted", found, "bags")
            return
    print("always", LOCKERS, "bags")


threads = [
    threading.Thread(target=porter, args=(1,)),
    threading.Thread(target=porter, args=(65,)),
    threading.Thread(target=inspector),
]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
