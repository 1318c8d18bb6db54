# expect: Scores.merge
# within: worker

"""Copy, change the copy, update the original: what others changed meanwhile is overwritten."""

import threading


class Scores:
    def __init__(self):
        self.points = {"ann": 0, "bob": 0}

    def merge(self, name):
        points = dict(self.points)  # bug
        points[name] += 1
        self.points.update(points)  # bug


scores = Scores()


def worker(name):
    for _ in range(80):
        scores.merge(name)


threads = [threading.Thread(target=worker, args=(given,)) for given in ("ann", "bob", "ann")]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(scores.points)
