"""A function that moves a piece by two calls is meant as one step on the board, and the decorator says so."""

# expect: move
import threading

import atomsan


class Board:
    def __init__(self):
        self.lock = threading.RLock()
        self.x = 0
        self.y = 0

    def set_x(self, x):
        with self.lock:
            self.x = x  # bug

    def set_y(self, y):
        with self.lock:
            self.y = y  # bug


@atomsan.unit_for("board")
def move(board, place):
    board.set_x(place)  # bug
    board.set_y(place)  # bug


def worker(board, first):
    for step in range(60):
        move(board, first + step)


board = Board()
threads = [threading.Thread(target=worker, args=(board, 1000 * i)) for i in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(board.x >= 0)
