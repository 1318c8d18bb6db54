# expect: grab
# within: worker

"""Every method is locked, but the pool can become empty between the question and the taking."""

import threading


class Pool:
    def __init__(self):
        self.lock = threading.Lock()
        self.items = list(range(200))

    def empty(self):
        with self.lock:
            return not self.items  # bug

    def take(self):
        with self.lock:
            return self.items.pop()  # bug


def grab(pool):
    if not pool.empty():  # bug
        try:
            return pool.take()  # bug
        except IndexError:
            return None
    return None


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
