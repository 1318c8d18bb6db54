"""Timers that are due at the same time, and a lock."""

import threading


class Clock:
    def __init__(self):
        self.ticks = 0
        self.lock = threading.Lock()

    def tick(self):
        with self.lock:
            ticks = self.ticks
            self.ticks = ticks + 1


def main():
    clock = Clock()
    for _ in range(40):
        timers = [threading.Timer(0, clock.tick) for _ in range(3)]
        for timer in timers:
            timer.start()
        for timer in timers:
            timer.join()
    print(clock.ticks)


main()
