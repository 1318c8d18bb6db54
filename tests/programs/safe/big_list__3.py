"""Water in 3000 cells: it flows from one cell to the next under one lock."""

import threading
from concurrent.futures import ThreadPoolExecutor


class Grid:
    def __init__(self):
        self.cells = [2.0] * 3000
        self.lock = threading.Lock()

    def shift(self, at):
        with self.lock:
            out = self.cells[at] / 2
            self.cells[at] = out
            self.cells[at + 1] += out

    def water(self):
        with self.lock:
            return sum(self.cells)


grid = Grid()
levels = []


def pump(first):
    for at in range(first, first + 90):
        grid.shift(at)


def gauge():
    for _ in range(60):
        levels.append(grid.water())


with ThreadPoolExecutor(3) as pool:
    jobs = [pool.submit(pump, 0), pool.submit(pump, 1500), pool.submit(gauge)]
for job in jobs:
    job.result()
lost = [level for level in levels if level != 6000]
print(f"broken: {6000 - lost[0]} is missing" if lost else "no water lost")
