# expect: Reporter.run

"""What was measured is shown and thrown away, in two locked calls: what comes in between is never shown."""

import threading


class Window:
    def __init__(self):
        self.guard = threading.Lock()
        self.values = []
        self.shown = 0

    def add(self, value):
        with self.guard:
            self.values.append(value)

    def seen(self):
        with self.guard:
            return list(self.values)  # bug

    def forget(self):
        with self.guard:
            self.values.clear()  # bug


class Reporter(threading.Thread):
    def __init__(self, window):
        super().__init__()
        self.window = window
        self.total = 0

    def run(self):
        for _ in range(200):
            values = self.window.seen()  # bug
            self.total += len(values)
            self.window.forget()  # bug


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
whole = reporter.total + len(window.seen())
print("measured" if whole == 600 else "broken: measured", whole)
