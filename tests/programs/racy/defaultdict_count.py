# expect: Words.count
# within: worker

"""A defaultdict makes the missing key, not the addition, one step."""

import threading
from collections import defaultdict


class Words:
    def __init__(self):
        self.seen = defaultdict(int)

    def count(self, word):
        self.seen[word] += 1  # bug


words = Words()


def worker():
    for i in range(120):
        words.count("ab"[i % 2])


threads = [threading.Thread(target=worker) for _ in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(sum(words.seen.values()))
