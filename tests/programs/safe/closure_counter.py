"""A counter in a closure's variable, under a lock in another."""

import threading


def make_counter():
    count = 0
    lock = threading.Lock()

    def bump():
        nonlocal count
        with lock:
            count += 1
            return count

    return bump


bump = make_counter()


def worker():
    for _ in range(100):
        bump()


threads = [threading.Thread(target=worker) for _ in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(bump() - 1)
