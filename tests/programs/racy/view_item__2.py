# expect: claim
# within: claiming

"""Slots of an array are claimed, by one thread through the array and by the other through a view of its end."""

import array
import threading

FREE, TAKEN = 0, 1
slots = array.array("i", [FREE] * 60)
upper = memoryview(slots)[20:]
claims = []


def claim(table, slot):
    if table[slot] == FREE:  # bug
        table[slot] = TAKEN  # bug
        claims.append(slot)


def claiming(table, first):
    for slot in range(first, first + 40):
        claim(table, slot)


threads = [threading.Thread(target=claiming, args=(slots, 20)), threading.Thread(target=claiming, args=(upper, 0))]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
if len(claims) != 40:
    print("broken: claimed twice")
print(sum(slots))
