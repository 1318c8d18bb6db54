"""The addition is one critical section."""

import threading
from collections import defaultdict


class Words:
    def __init__(self):
        self.seen = defaultdict(int)
        self.lock = threading.Lock()

    def count(self, word):
        with self.lock:
            self.seen[word] += 1


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
