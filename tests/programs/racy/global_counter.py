# expect: bump
# within: worker

"""A function adds to a global."""

import threading

counter = 0


def bump():
    global counter
    before = counter  # bug
    counter = before + 1  # bug


def worker():
    for _ in range(100):
        bump()


threads = [threading.Thread(target=worker) for _ in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(counter)
