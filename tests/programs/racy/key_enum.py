# expect: Board.move
# within: team

"""Tickets by state: each side of a move is read in one locked call and stored in another."""

import enum
import threading


class State(enum.StrEnum):
    TODO = "todo"
    DONE = "done"


class Board:
    def __init__(self, tickets):
        self.tickets = {State.TODO: tickets, State.DONE: 0}
        self.lock = threading.RLock()

    def read(self, state):
        with self.lock:
            return self.tickets[state]  # bug

    def store(self, state, number):
        with self.lock:
            self.tickets[state] = number  # bug

    def move(self, source, target):
        self.store(source, self.read(source) - 1)  # bug
        self.store(target, self.read(target) + 1)  # bug


board = Board(150)


def team():
    for _ in range(50):
        board.move(State.TODO, State("done"))


threads = [threading.Thread(target=team) for _ in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
todo, done = board.read(State.TODO), board.read(State.DONE)
print("all done" if (todo, done) == (0, 150) else f"broken: {todo} to do and {done} done of 150")
