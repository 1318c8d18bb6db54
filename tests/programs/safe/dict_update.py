"""The copy and the update are one critical section."""

import threading


class Scores:
    def __init__(self):
        self.points = {"ann": 0, "bob": 0}
        self.lock = threading.Lock()

    def merge(self, name):
        with self.lock:
            points = dict(self.points)
            points[name] += 1
            self.points.update(points)


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
