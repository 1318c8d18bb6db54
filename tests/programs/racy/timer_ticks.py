# expect: Clock.tick

"""Timers that are due at the same time."""

import threading


class Clock:
    def __init__(self):
        self.ticks = 0

    def tick(self):
        ticks = self.ticks  # bug
        self.ticks = ticks + 1  # bug


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
