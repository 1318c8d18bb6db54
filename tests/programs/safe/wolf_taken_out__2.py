"""A file is checked out of the archive by its number and checked in again; who finds it out comes back later."""

import threading

archive = {number: [] for number in range(4)}
lock = threading.Lock()
entered = []


def enter(number, text):
    with lock:
        file = archive.pop(number, None)
    if file is None:
        return
    file.append(text)
    entered.append(text)
    with lock:
        archive[number] = file


def clerk(name):
    for n in range(80):
        enter(n % 4, f"{name} {n}")


threads = [threading.Thread(target=clerk, args=(name,)) for name in ("ann", "bob", "cid")]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
kept = sum(len(file) for file in archive.values())
print("entries" if kept == len(entered) else "broken: entries", kept, len(entered))
