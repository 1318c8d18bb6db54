# expect: Board.add
# within: worker

"""A list is appended to while another thread sorts and trims it."""

import threading


def negative(score):
    return -score


class Board:
    def __init__(self):
        self.best = []

    def add(self, score):
        self.best.append(score)  # bug
        try:
            self.best.sort(key=negative)  # bug
        except ValueError:
            return
        del self.best[5:]  # bug


board = Board()


def worker(step):
    for i in range(50):
        board.add(i * step % 37)


threads = [threading.Thread(target=worker, args=(given,)) for given in (3, 5, 7)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(len(board.best) > 0)
