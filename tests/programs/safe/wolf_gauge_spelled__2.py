"""Bytes in use: a context manager adds the size of a block and takes it off again."""

import threading
from contextlib import contextmanager

in_use = 0
lock = threading.Lock()


def change(by):
    global in_use
    with lock:
        in_use = in_use + by


@contextmanager
def block(size):
    change(size)
    try:
        yield bytearray(size)
    finally:
        change(-size)


def user(size):
    for _ in range(50):
        with block(size) as memory:
            memory[0] = 1


threads = [threading.Thread(target=user, args=(size,)) for size in (10, 200, 3000)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print("all given back" if in_use == 0 else f"broken: {in_use} bytes in use")
