"""The function that is mapped adds to a shared total, under a lock."""

import threading
from concurrent.futures import ThreadPoolExecutor


class Total:
    def __init__(self):
        self.value = 0
        self.lock = threading.Lock()


total = Total()


def add(n):
    with total.lock:
        total.value += n


with ThreadPoolExecutor(max_workers=3) as pool:
    list(pool.map(add, range(200)))
print(total.value)
