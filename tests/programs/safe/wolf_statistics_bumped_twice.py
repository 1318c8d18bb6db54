"""A request bumps the same locked counter when it comes and when it goes."""

import threading


class Count:
    def __init__(self):
        self.lock = threading.Lock()
        self.value = 0

    def bump(self):
        with self.lock:
            self.value += 1


steps = Count()


def handle(n):
    steps.bump()
    answer = n * n
    steps.bump()
    return answer


def worker():
    for n in range(80):
        handle(n)


threads = [threading.Thread(target=worker) for _ in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(steps.value)
