"""A line of a screen is a view of its pixels; one of them is read, changed and written back."""

import threading


class Screen:
    def __init__(self):
        self.pixels = bytearray(24)
        self.drawing = threading.Lock()
        self.lines = [memoryview(self.pixels)[start : start + 8] for start in (0, 8, 16)]

    def brighten(self, line, column):
        row = self.lines[line]
        with self.drawing:
            pixel = row[column]
            row[column] = min(255, pixel + 1)


screen = Screen()


def worker():
    for i in range(90):
        screen.brighten(1, i % 3)


threads = [threading.Thread(target=worker) for _ in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
if sum(screen.pixels) != 270:
    print("broken: too dark")
print("bright")
