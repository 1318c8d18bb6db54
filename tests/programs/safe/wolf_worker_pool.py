"""The usual pool by hand: jobs come from one queue, results go to another, and the list of results has one owner."""

import queue
import threading

jobs = queue.Queue()
results = queue.SimpleQueue()


def worker():
    while True:
        job = jobs.get()
        if job is None:
            break
        results.put(job * job)


def main():
    threads = [threading.Thread(target=worker) for _ in range(3)]
    for thread in threads:
        thread.start()
    for n in range(100):
        jobs.put(n)
    for _ in threads:
        jobs.put(None)
    for thread in threads:
        thread.join()
    found = []
    while not results.empty():
        found.append(results.get())
    print(sum(found))


main()
