"""Rows of a file are handled in a loop of a function: every row takes the lock for itself."""

import threading

lock = threading.Lock()
sums = {"even": 0, "odd": 0}
rows_seen = 0


def add(kind, number):
    with lock:
        sums[kind] += number


def seen():
    global rows_seen
    with lock:
        rows_seen += 1


def handle_file(rows):
    for row in rows:
        add("odd" if row % 2 else "even", row)
        seen()


def reader(first):
    handle_file(range(first, first + 50))
    handle_file(range(first))


threads = [threading.Thread(target=reader, args=(first,)) for first in (10, 20, 30)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(rows_seen, "rows" if rows_seen == 210 else "rows, broken: 210 were read")
