"""What was measured is shown and thrown away, in one locked call."""

import threading


class Window:
    def __init__(self):
        self.guard = threading.Lock()
        self.values = []
        self.shown = 0

    def add(self, value):
        with self.guard:
            self.values.append(value)

    def taken(self):
        with self.guard:
            values = list(self.values)
            self.values.clear()
        return values


class Reporter(threading.Thread):
    def __init__(self, window):
        super().__init__()
        self.window = window
        self.total = 0

    def run(self):
        for _ in range(200):
            values = self.window.taken()
            self.total += len(values)


window = Window()


def sensor():
    for value in range(300):
        window.add(value)


sensors = [threading.Thread(target=sensor) for _ in range(2)]
reporter = Reporter(window)
for one in (*sensors, reporter):
    one.start()
for one in (*sensors, reporter):
    one.join()
whole = reporter.total + len(window.taken())
print("measured" if whole == 600 else "broken: measured", whole)
