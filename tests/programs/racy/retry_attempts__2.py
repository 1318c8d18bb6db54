# expect: Meter.sample
# within: watch

"""The number of samples is read before each one, and counted up in `finally`, whatever became of it."""

import threading


class Meter:
    def __init__(self):
        self.guard = threading.Lock()
        self.samples = 0
        self.failures = []

    def probe(self, number):
        return 100 // (number % 4)

    def sample(self, numbers):
        for number in numbers:
            before = self.samples  # bug
            try:
                self.probe(number)
            except ZeroDivisionError as error:
                self.failures.append(str(error))
            finally:
                self.samples = before + 1  # bug


meter = Meter()


def watch(first):
    for number in range(first, first + 40):
        meter.sample([number, number + 1])


watchers = [threading.Thread(target=watch, args=(first,)) for first in (0, 100)]
for watcher in watchers:
    watcher.start()
for watcher in watchers:
    watcher.join()
print("samples:" if meter.samples == 160 else "broken: samples:", meter.samples)
