# expect: add

"""The function that is mapped adds to a shared total."""

import threading
from concurrent.futures import ThreadPoolExecutor


class Total:
    def __init__(self):
        self.value = 0
        self.lock = threading.Lock()


total = Total()


def add(n):
    total.value += n  # bug


with ThreadPoolExecutor(max_workers=3) as pool:
    list(pool.map(add, range(200)))
print(total.value)
