"""Jobs number themselves by a counter of their class, under its lock."""

import threading


class Job:
    made = 0
    lock = threading.Lock()

    def __init__(self):
        with Job.lock:
            Job.made += 1
            self.number = Job.made


def worker():
    for _ in range(100):
        Job()


threads = [threading.Thread(target=worker) for _ in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(Job.made)
