"""A shared dict in which each thread has a key of its own."""

import threading

results = {}


def worker(name):
    results[name] = 0
    for i in range(100):
        results[name] = results[name] + i
        results[name] += 1


threads = [threading.Thread(target=worker, args=(given,)) for given in ("ann", "bob", "cid")]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(sum(results.values()))
