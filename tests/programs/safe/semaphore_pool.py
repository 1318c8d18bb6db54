"""The semaphore says how many there are, a queue hands each to one."""

import queue
import threading


class Pool:
    def __init__(self, size):
        self.permits = threading.Semaphore(size)
        self.free = queue.LifoQueue()
        for number in range(size):
            self.free.put(number)

    def use(self):
        with self.permits:
            number = self.free.get_nowait()
            self.free.put(number)


pool = Pool(2)


def worker():
    for _ in range(80):
        pool.use()


threads = [threading.Thread(target=worker) for _ in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print("done")
