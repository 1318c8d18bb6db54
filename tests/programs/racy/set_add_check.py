# expect: Claims.claim
# within: worker

"""Two threads both find the number unclaimed."""

import threading


class Claims:
    def __init__(self):
        self.taken = set()

    def claim(self, number):
        if number in self.taken:  # bug
            return False
        self.taken.add(number)  # bug
        return True

    def drop(self, number):
        self.taken.discard(number)  # bug


claims = Claims()


def worker():
    for i in range(200):
        if i % 2:
            claims.drop(i % 3)
        else:
            claims.claim(i % 3)


threads = [threading.Thread(target=worker) for _ in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(len(claims.taken) <= 3)
