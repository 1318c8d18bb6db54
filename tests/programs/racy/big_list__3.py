# expect: Grid.shift
# within: pump

"""Water in 3000 cells: it leaves one cell under the lock and comes into the next one under the lock taken again."""

import threading
from concurrent.futures import ThreadPoolExecutor


class Grid:
    def __init__(self):
        self.cells = [2.0] * 3000
        self.lock = threading.Lock()

    def shift(self, at):
        with self.lock:
            out = self.cells[at] / 2
            self.cells[at] = out  # bug
        with self.lock:
            self.cells[at + 1] += out  # bug

    def water(self):
        with self.lock:
            return sum(self.cells)  # bug


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
