"""A lock that its owner may take again: who asks whether it is the owner gets the same answer, whatever others do."""

import threading


class Reentrant:
    def __init__(self):
        self.block = threading.Lock()
        self.owner = None
        self.depth = 0

    def acquire(self):
        me = threading.get_ident()
        if self.owner == me:
            self.depth += 1
            return
        self.block.acquire()
        self.owner = me
        self.depth = 1

    def release(self):
        self.depth -= 1
        if self.depth == 0:
            self.owner = None
            self.block.release()


def worker(lock):
    for _ in range(40):
        lock.acquire()
        lock.acquire()
        lock.release()
        lock.release()


lock = Reentrant()
threads = [threading.Thread(target=worker, args=(lock,)) for _ in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(lock.depth)
