"""The parts of one list, each filled by one call of a pool."""

from concurrent.futures import ThreadPoolExecutor

squares = [0] * 120


def fill(start):
    for i in range(start, start + 20):
        squares[i] = i
        squares[i] = squares[i] * squares[i]
    return start


with ThreadPoolExecutor(max_workers=3) as pool:
    parts = list(pool.map(fill, range(0, 120, 20)))
print(sum(squares), len(parts))
