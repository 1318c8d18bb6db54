# expect: next_job
# within: worker

"""The queue is asked whether it is empty, and another worker takes the last job before this one does."""

import queue
import threading


def next_job(jobs):
    if not jobs.empty():  # bug
        return jobs.get_nowait()  # bug
    return None


def worker(jobs, failed):
    for _ in range(60):
        try:
            next_job(jobs)
        except queue.Empty:
            failed.append(1)


jobs = queue.Queue()
for number in range(100):
    jobs.put(number)
failed = []
threads = [threading.Thread(target=worker, args=(jobs, failed)) for _ in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print("broken: it was empty" if failed else "taken", jobs.qsize())
