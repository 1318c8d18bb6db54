# expect: Ids.next_id
# within: worker

"""The number is counted up and read again: two can get the same."""

import threading


class Ids:
    def __init__(self):
        self.last = 0

    def next_id(self):
        self.last += 1  # bug
        return self.last  # bug


ids = Ids()


def worker():
    for _ in range(100):
        ids.next_id()


threads = [threading.Thread(target=worker) for _ in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(ids.last)
