"""The test and the claim are one critical section."""

import threading


class Claims:
    def __init__(self):
        self.taken = set()
        self.lock = threading.Lock()

    def claim(self, number):
        with self.lock:
            if number in self.taken:
                return False
            self.taken.add(number)
            return True

    def drop(self, number):
        with self.lock:
            self.taken.discard(number)


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
