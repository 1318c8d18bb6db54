"""List-heavy: the game of life, the rows shared out among four threads with a barrier between generations."""

import sys
import threading


def step(old, new, first, last, size):
    for y in range(first, last):
        above, here, below = old[y - 1], old[y], old[(y + 1) % size]
        row = new[y]
        for x in range(size):
            right = x + 1 if x + 1 < size else 0
            near = (
                above[x - 1] + above[x] + above[right] + here[x - 1] + here[right]
                + below[x - 1] + below[x] + below[right]
            )  # fmt: skip
            row[x] = 1 if near == 3 or (near == 2 and here[x]) else 0


def work(grids, part, parts, size, generations, barrier):
    first, last = part * size // parts, (part + 1) * size // parts
    for generation in range(generations):
        old, new = grids[generation % 2], grids[(generation + 1) % 2]
        step(old, new, first, last, size)
        barrier.wait()


def main(generations):
    size, parts = 120, 4
    grids = [
        [[int((x * x * 7 + y * 13 + x * y * y) % 11 < 4) for x in range(size)] for y in range(size)] for _ in range(2)
    ]
    barrier = threading.Barrier(parts)
    threads = [
        threading.Thread(target=work, args=(grids, part, parts, size, generations, barrier)) for part in range(parts)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(sum(map(sum, grids[0])))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000)
