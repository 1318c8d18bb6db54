"""A result that is made once: looked at without the lock, and again under it, against a sentinel and not None."""

import threading
import time

UNSET = object()


def once(make):
    lock = threading.Lock()
    result = UNSET

    def get():
        nonlocal result
        if result is not UNSET:
            return result
        with lock:
            if result is not UNSET:
                return result
            result = make()
            return result

    return get


def slow():
    time.sleep(0.01)
    return 42


get = once(slow)
together = threading.Barrier(3)


def worker():
    together.wait()
    if get() != 42:
        print("broken: another result")


threads = [threading.Thread(target=worker) for _ in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(get())
