"""Numeric: four threads compute rows of the Mandelbrot set, in local variables."""

import sys
import threading


def row(y, width, height, steps):
    inside = 0
    ci = 2.0 * y / height - 1.0
    for x in range(width):
        cr = 3.0 * x / width - 2.0
        zr = zi = 0.0
        for _ in range(steps):
            zr, zi = zr * zr - zi * zi + cr, 2.0 * zr * zi + ci
            if zr * zr + zi * zi > 4.0:
                break
        else:
            inside += 1
    return inside


def rows(first, size, steps, results):
    total = 0
    for y in range(first, size, 4):
        total += row(y, size, size, steps)
    results[first] = total


def main(size):
    results = [0] * 4
    threads = [threading.Thread(target=rows, args=(first, size, 100, results)) for first in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(sum(results))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 800)
