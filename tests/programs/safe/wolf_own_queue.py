"""Workers take jobs from a queue of the program's own, and tell it when they are done: each job is one worker's."""

import threading


class Jobs:
    def __init__(self):
        self.changed = threading.Condition()
        self.items = []
        self.unfinished = 0

    def put(self, job):
        with self.changed:
            self.items.append(job)
            self.unfinished += 1
            self.changed.notify()

    def get(self):
        with self.changed:
            while not self.items:
                self.changed.wait()
            return self.items.pop()

    def done(self):
        with self.changed:
            self.unfinished -= 1


def worker(jobs):
    for _ in range(60):
        job = jobs.get()
        if job is not None:
            jobs.done()


jobs = Jobs()
threads = [threading.Thread(target=worker, args=(jobs,)) for _ in range(3)]
for thread in threads:
    thread.start()
for i in range(180):
    jobs.put(i)
for thread in threads:
    thread.join()
print(jobs.unfinished)
