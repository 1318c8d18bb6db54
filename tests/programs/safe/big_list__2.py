"""Bags in 66 lockers: one is carried from locker to locker in one locked step while another counts them all."""

import threading

LOCKERS = 66
bags = [1 for _ in range(LOCKERS)]
door = threading.Lock()


def carry(here, there):
    with door:
        bags[here] = bags[here] - 1
        bags[there] = bags[there] + 1


def porter(step):
    place = 0
    for _ in range(60):
        target = (place + step) % LOCKERS
        carry(place, target)
        place = target


def count():
    with door:
        return sum(number for number in bags)


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
