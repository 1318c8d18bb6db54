"""A job is on the list of running jobs while it runs; it is taken off by what it is."""

import threading
import time

running = []


def run(job):
    running.append(job)
    try:
        time.sleep(0)
        return job["n"] * 2
    finally:
        running.remove(job)


def worker(name):
    for n in range(60):
        run({"name": name, "n": n})


threads = [threading.Thread(target=worker, args=(name,)) for name in "abc"]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print("none runs" if not running else "broken: still running")
