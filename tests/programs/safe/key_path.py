"""Lines of each file, by its path, counted under the lock."""

import threading
from pathlib import Path


class Index:
    def __init__(self):
        self.lines = {}
        self.lock = threading.Lock()

    def add_line(self, file):
        with self.lock:
            self.lines.setdefault(file, 0)
            self.lines[file] += 1

    def total(self):
        with self.lock:
            return sum(self.lines.values())


index = Index()


def crawler(folder):
    for n in range(100):
        index.add_line(Path(folder) / f"chapter{n % 2}.txt")


threads = [threading.Thread(target=crawler, args=("book",)) for _ in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(index.total(), "lines" if index.total() == 300 else "lines, broken: should be 300")
