# expect: Ticker.run

"""A class of threads leaves its work to the class that it is derived from."""

import threading


class Clock:
    def __init__(self):
        self.lock = threading.Lock()
        self.ticks = 0


class Ticker(threading.Thread):
    def __init__(self, clock):
        super().__init__()
        self.clock = clock

    def run(self):
        left = 90
        while left:
            with self.clock.lock:
                seen = self.clock.ticks  # bug
            left -= 1
            with self.clock.lock:
                self.clock.ticks = seen + 1  # bug


class QuietTicker(Ticker):
    def run(self):
        super().run()


clock = Clock()
tickers = [QuietTicker(clock) for _ in range(3)]
for ticker in tickers:
    ticker.start()
for ticker in tickers:
    ticker.join()
print("broken: ticks are missing" if clock.ticks != 270 else "all ticks counted")
