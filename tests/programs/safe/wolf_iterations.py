"""Each round of a loop is a step of its own; only a number of one's own goes from one to the next."""

import threading


class Quiz:
    def __init__(self):
        self.lock = threading.Lock()
        self.points = {"ann": 0, "bob": 0}

    def play(self, name, rounds):
        lap = 0
        while lap < rounds:
            with self.lock:
                self.points[name] += 1
            lap += 1


quiz = Quiz()


def player(name):
    for _ in range(10):
        quiz.play(name, 6)


threads = [threading.Thread(target=player, args=(name,)) for name in ("ann", "bob")]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print("points" if set(quiz.points.values()) == {60} else "broken: points", quiz.points)
