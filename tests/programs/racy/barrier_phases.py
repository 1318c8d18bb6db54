# expect: worker

"""Each reads the other's cell and writes its own, with no barrier between reading and writing."""

import threading

cells = [1, 2]
barrier = threading.Barrier(2)


def worker(own):
    for _ in range(60):
        seen = cells[1 - own]  # bug
        cells[own] = seen + 1  # bug
        barrier.wait()


threads = [threading.Thread(target=worker, args=(given,)) for given in (0, 1)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(sum(cells) > 3)
