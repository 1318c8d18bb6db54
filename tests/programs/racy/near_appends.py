# expect: Table.insert
# within: importer

"""Appends of several threads commute, but the index says where a row came to lie."""

import threading


class Table:
    def __init__(self):
        self.rows = []
        self.index = {}
        self.lock = threading.Lock()

    def insert(self, key, value):
        self.rows.append((key, value))  # bug
        self.index[key] = len(self.rows) - 1  # bug

    def find(self, key):
        return self.rows[self.index[key]]


table = Table()


def importer(name):
    for n in range(60):
        table.insert((name, n), n)


threads = [threading.Thread(target=importer, args=(name,)) for name in "abc"]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
wrong = sum(table.find(key)[0] != key for key in table.index)
print(f"broken: {wrong} keys lead to other rows" if wrong else "every key leads to its row")
