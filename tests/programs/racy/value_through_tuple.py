# expect: Clock.tick
# within: ticker

"""A clock gives minutes and seconds as a tuple, which is taken apart, moved on and set."""

import threading


class Clock:
    def __init__(self):
        self.lock = threading.Lock()
        self.minutes = 0
        self.seconds = 0

    def now(self):
        with self.lock:
            return self.minutes, self.seconds  # bug

    def put(self, minutes, seconds):
        with self.lock:
            self.minutes, self.seconds = minutes, seconds  # bug

    def tick(self):
        _, *rest = (now := self.now())  # bug
        seconds = rest[0] + 1
        self.put(now[0] + seconds // 60, seconds % 60)  # bug


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
