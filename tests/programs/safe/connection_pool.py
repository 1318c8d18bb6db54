"""Idle connections are in a queue; new ones are numbered under a lock."""

import queue
import threading


class Connection:
    def __init__(self, number):
        self.number = number


class Pool:
    def __init__(self):
        self.idle = queue.SimpleQueue()
        self.made = 0
        self.lock = threading.Lock()

    def get(self):
        try:
            return self.idle.get_nowait()
        except queue.Empty:
            pass
        with self.lock:
            self.made += 1
            return Connection(self.made)

    def use(self):
        connection = self.get()
        self.idle.put(connection)


pool = Pool()


def worker():
    for _ in range(100):
        pool.use()


threads = [threading.Thread(target=worker) for _ in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(pool.made <= 3)
