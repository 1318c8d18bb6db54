"""A player counts through one locked method of the board."""

import threading


class Board:
    def __init__(self):
        self.lock = threading.Lock()
        self.points = 0

    def get(self):
        self.lock.acquire()
        try:
            return self.points
        finally:
            self.lock.release()

    def set(self, points):
        self.lock.acquire()
        self.points = points
        self.lock.release()

    def count(self):
        self.lock.acquire()
        self.points += 1
        self.lock.release()


BOARD = Board()


class Player(threading.Thread):
    def __init__(self):
        super().__init__()
        self.board = BOARD

    def score(self):
        self.board.count()

    def play(self):
        for _ in range(60):
            self.score()

    run = play


threads = [Player() for _ in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(f"{BOARD.points} points" + ("" if BOARD.points == 180 else ", broken: 180 were scored"))
