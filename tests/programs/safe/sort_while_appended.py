"""Append, sort and trim are one critical section."""

import threading


def negative(score):
    return -score


class Board:
    def __init__(self):
        self.best = []
        self.lock = threading.Lock()

    def add(self, score):
        with self.lock:
            self.best.append(score)
            self.best.sort(key=negative)
            del self.best[5:]


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
