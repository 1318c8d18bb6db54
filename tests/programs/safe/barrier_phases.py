"""All have read before anyone writes, and all have written before anyone reads."""

import threading

cells = [1, 2]
barrier = threading.Barrier(2)


def worker(own):
    for _ in range(60):
        seen = cells[1 - own]
        barrier.wait()
        cells[own] = seen + 1
        barrier.wait()


threads = [threading.Thread(target=worker, args=(given,)) for given in (0, 1)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(sum(cells) > 3)
