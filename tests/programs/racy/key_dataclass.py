# expect: paint
# within: painter

"""Layers of colour on a grid whose squares are frozen dataclasses: two painters both lay the first layer."""

import threading
from dataclasses import dataclass


@dataclass(frozen=True)
class Square:
    x: int
    y: int


layers = {}


def paint(square):
    if square in layers:  # bug
        layers[square] = layers[square] + 1  # bug
    else:
        layers[square] = 1  # bug


def painter():
    for n in range(90):
        paint(Square(n % 3, 0))


threads = [threading.Thread(target=painter) for _ in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
thin = {square: n for square, n in layers.items() if n != 90}
print(f"broken: {thin}" if thin else "90 layers everywhere")
