"""Keys are tuples, and each thread has its own row: no two touch the same element."""

import threading

grid = {(row, column): 0 for row in range(3) for column in range(4)}


def worker(row):
    for i in range(100):
        grid[row, i % 4] += 1
        grid[row, (i + 1) % 4] += 1


threads = [threading.Thread(target=worker, args=(given,)) for given in (0, 1, 2)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(sum(grid.values()))
