# expect: Jobs.take
# within: worker

"""The check that a job is there is made outside the condition's lock."""

import threading


class Jobs:
    def __init__(self):
        self.changed = threading.Condition()
        self.waiting = []
        self.closed = False

    def put(self, job):
        with self.changed:
            self.waiting.append(job)
            self.changed.notify()

    def close(self):
        with self.changed:
            self.closed = True
            self.changed.notify_all()

    def take(self):
        while not self.waiting and not self.closed:  # bug
            with self.changed:
                self.changed.wait(timeout=0.001)
        with self.changed:
            try:
                return self.waiting.pop()  # bug
            except IndexError:
                return None


jobs = Jobs()


def worker():
    for _ in range(60):
        jobs.take()


threads = [threading.Thread(target=worker) for _ in range(3)]
for thread in threads:
    thread.start()
for number in range(120):
    jobs.put(number)
jobs.close()
for thread in threads:
    thread.join()
print("done")
