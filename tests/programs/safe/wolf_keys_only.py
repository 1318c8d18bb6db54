"""Who takes part is listed without the lock: the names never change, only their points do, and these are locked."""

import threading

points = {"ann": 0, "bob": 0, "cyd": 0}
lock = threading.Lock()


def play(name):
    players = sorted(points)
    place = players.index(name)
    with lock:
        points[name] += 1
    return [*points][place] == name


def worker(name):
    for _ in range(150):
        if not play(name):
            print("broken: another one is there")


threads = [threading.Thread(target=worker, args=(name,)) for name in ("ann", "bob", "cyd")]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(points)
