"""A request bumps two counters, each with its own lock, and nothing ties the two together."""

import threading


class Count:
    def __init__(self):
        self.lock = threading.Lock()
        self.value = 0

    def add(self, n):
        with self.lock:
            self.value += n


requests = Count()
sent = Count()


def handle(size):
    requests.add(1)
    sent.add(size)
    requests.add(1)


def worker():
    for size in range(80):
        handle(size)


threads = [threading.Thread(target=worker) for _ in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(requests.value, sent.value)
