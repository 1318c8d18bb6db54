"""Every row is read, changed and written in its round; a failed one is told and the next one follows."""

import threading

table = dict.fromkeys(range(8), 0)
lock = threading.Lock()


def raise_rows(by):
    failed = 0
    for row in range(9):
        try:
            with lock:
                value = table[row]
                table[row] = value + by
        except KeyError:
            failed += 1
    return failed


def worker():
    for _ in range(10):
        raise_rows(2)


threads = [threading.Thread(target=worker) for _ in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print("rows" if set(table.values()) == {60} else "broken: rows", *table.values())
