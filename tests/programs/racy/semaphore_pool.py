# expect: Pool.use
# within: worker

"""The semaphore says how many there are; which one it is takes two steps, and two can get the same."""

import threading


class Pool:
    def __init__(self, size):
        self.permits = threading.Semaphore(size)
        self.free = list(range(size))

    def use(self):
        with self.permits:
            number = self.free[-1]  # bug
            self.free.pop()  # bug
            self.free.append(number)  # bug


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
