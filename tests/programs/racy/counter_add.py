# expect: Votes.cast
# within: worker

"""A collections.Counter counts no better than a dict."""

import threading
from collections import Counter


class Votes:
    def __init__(self):
        self.cast_for = Counter()

    def cast(self, name):
        self.cast_for[name] += 1  # bug


votes = Votes()


def worker():
    for i in range(120):
        votes.cast("ann" if i % 3 else "bob")


threads = [threading.Thread(target=worker) for _ in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(votes.cast_for.total())
