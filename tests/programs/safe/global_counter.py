"""A function adds to a global, under a lock."""

import threading

counter = 0
lock = threading.Lock()


def bump():
    global counter
    with lock:
        before = counter
        counter = before + 1


def worker():
    for _ in range(100):
        bump()


threads = [threading.Thread(target=worker) for _ in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(counter)
