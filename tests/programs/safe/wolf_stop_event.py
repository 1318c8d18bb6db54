"""An Event says stop; each round asks it, and then works on shared data under a lock."""

import threading


class Site:
    def __init__(self):
        self.stop = threading.Event()
        self.lock = threading.Lock()
        self.done = 0


site = Site()


def worker():
    for _ in range(200):
        if site.stop.is_set():
            break
        with site.lock:
            site.done += 1


def foreman():
    for _ in range(100):
        with site.lock:
            enough = site.done >= 150
        if enough:
            site.stop.set()


threads = [threading.Thread(target=worker), threading.Thread(target=worker), threading.Thread(target=foreman)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(site.done > 0)
