# expect: Table.load
# within: loader

"""The lock is given away for the slow part, and what is stored after it rests on what was read before."""

import threading
import time


class Table:
    def __init__(self):
        self.lock = threading.Lock()
        self.total = 0
        self.loading = {}

    def load(self, key):
        with self.lock:
            total = self.total  # bug
            self.loading[key] = True
            self.lock.release()
            try:
                time.sleep(0)
            finally:
                self.lock.acquire()
            if self.loading.pop(key):
                self.total = total + 1  # bug

    def forget(self, key):
        with self.lock:
            if key in self.loading:
                self.loading[key] = False


def loader(table, key):
    for _ in range(60):
        table.load(key)


def forgetter(table):
    for i in range(120):
        table.forget(i % 2)


table = Table()
threads = [threading.Thread(target=loader, args=(table, key)) for key in range(2)]
threads.append(threading.Thread(target=forgetter, args=(table,)))
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(table.total)
