"""A job is taken without a question, and to find none is an answer."""

import queue
import threading


def next_job(jobs):
    try:
        return jobs.get_nowait()
    except queue.Empty:
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
