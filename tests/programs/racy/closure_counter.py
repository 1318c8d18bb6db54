# expect: make_counter.<locals>.bump
# within: worker

"""A counter in a closure's variable."""

import threading


def make_counter():
    count = 0

    def bump():
        nonlocal count
        count += 1  # bug
        return count  # bug

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
