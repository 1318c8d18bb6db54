"""A worker's loop over calls of one locked object, none of which needs the others."""

import threading


class Board:
    def __init__(self):
        self.lock = threading.Lock()
        self.high = 0
        self.games = 0
        self.names = set()

    def played(self):
        with self.lock:
            self.games += 1

    def offer(self, points):
        with self.lock:
            if points > self.high:
                self.high = points

    def enter(self, name):
        with self.lock:
            self.names.add(name)


board = Board()


def player(name):
    for points in range(60):
        board.played()
        board.offer(points)
        board.enter(name)


threads = [threading.Thread(target=player, args=(name,)) for name in ("ann", "bob", "cid")]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print("fine" if (board.games, board.high, len(board.names)) == (180, 59, 3) else "broken: board", board.games)
