"""The same name in every thread, and another object behind it in each."""

import threading

local = threading.local()


def bump(n):
    before = local.count
    local.count = before + n
    local.seen.append(n)
    local.count += len(local.seen)


def worker():
    local.count = 0
    local.seen = []
    for n in range(60):
        bump(n)


threads = [threading.Thread(target=worker) for _ in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print("done")
