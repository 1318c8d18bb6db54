"""A clock is moved on in one locked method."""

import threading


class Clock:
    def __init__(self):
        self.lock = threading.Lock()
        self.minutes = 0
        self.seconds = 0

    def now(self):
        with self.lock:
            return self.minutes, self.seconds

    def put(self, minutes, seconds):
        with self.lock:
            self.minutes, self.seconds = minutes, seconds

    def tick(self):
        with self.lock:
            seconds = self.seconds + 1
            self.minutes, self.seconds = self.minutes + seconds // 60, seconds % 60


clock = Clock()


def ticker():
    for _ in range(80):
        clock.tick()


threads = [threading.Thread(target=ticker) for _ in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(*clock.now(), "" if clock.now() == (4, 0) else "broken: should be 4 0")
