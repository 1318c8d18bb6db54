"""Two fields of one object, each for one thread alone."""

import threading


class Pair:
    def __init__(self):
        self.left = 0
        self.right = 0

    def bump_left(self):
        self.left += 1
        self.left += 1

    def bump_right(self):
        self.right += 1
        self.right += 1


pair = Pair()


def lefty():
    for _ in range(100):
        pair.bump_left()


def righty():
    for _ in range(100):
        pair.bump_right()


threads = [threading.Thread(target=lefty), threading.Thread(target=righty)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(pair.left, pair.right)
