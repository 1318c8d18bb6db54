"""The highest water of the year is kept in a global variable in capitals, and looked at again under the lock."""

import threading

GAUGE = threading.Lock()
HIGHEST = -1


def measured(level):
    global HIGHEST
    if level > HIGHEST:
        with GAUGE:
            if level > HIGHEST:
                HIGHEST = level


def station(first):
    for day in range(120):
        measured(first + day * 2)


threads = [threading.Thread(target=station, args=(first,)) for first in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print("the highest was 240" if HIGHEST == 240 else "broken: a flood was forgotten")
