"""The question and the taking are one method, under one lock."""

import threading


class Pool:
    def __init__(self):
        self.lock = threading.Lock()
        self.items = list(range(200))

    def empty(self):
        with self.lock:
            return not self.items

    def take(self):
        with self.lock:
            return self.items.pop()

    def take_if_any(self):
        with self.lock:
            return self.items.pop() if self.items else None


def grab(pool):
    return pool.take_if_any()


def worker(pool):
    for _ in range(80):
        grab(pool)


pool = Pool()
threads = [threading.Thread(target=worker, args=(pool,)) for _ in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(pool.empty())
