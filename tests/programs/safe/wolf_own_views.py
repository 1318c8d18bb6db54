"""Each thread has a view of a part of the buffer of its own."""

import threading

buffer = bytearray(30)
parts = [memoryview(buffer)[start : start + 10] for start in (0, 10, 20)]


def fill(part):
    for place in range(10):
        if part[place] == 0:
            part[place] += place + 1
    part[2:4] = bytes(reversed(part[2:4]))


def filling(part):
    for _ in range(20):
        fill(part)


threads = [threading.Thread(target=filling, args=(part,)) for part in parts]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
if sum(buffer) != 165:
    print("broken: bytes are missing")
print("filled")
