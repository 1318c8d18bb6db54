# expect: Pool.get
# within: worker

"""The last idle connection is gone between the look and the pop; and connections get the same number."""

import threading


class Connection:
    def __init__(self, number):
        self.number = number


class Pool:
    def __init__(self):
        self.idle = []
        self.made = 0

    def get(self):
        if self.idle:  # bug
            try:
                return self.idle.pop()  # bug
            except IndexError:
                pass
        self.made += 1  # bug
        return Connection(self.made)  # bug

    def use(self):
        connection = self.get()  # bug
        self.idle.append(connection)  # bug


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
