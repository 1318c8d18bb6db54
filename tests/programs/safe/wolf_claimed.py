"""Who moves a job from one state to the next owns it: the same function asks and moves, for every step of a job."""

import threading


class Job:
    def __init__(self, name):
        self.name = name
        self.lock = threading.Lock()
        self.state = "new"
        self.result = None

    def advance(self, before, after):
        with self.lock:
            if self.state != before:
                return False
            self.state = after
            return True

    def run(self):
        if self.advance("new", "running"):
            self.result = len(self.name)
            self.advance("running", "done")


jobs = [Job("wash"), Job("dry"), Job("iron")]


def worker():
    for job in jobs:
        job.run()


workers = [threading.Thread(target=worker) for _ in range(3)]
for one in workers:
    one.start()
for one in workers:
    one.join()
print([(job.state, job.result) for job in jobs])
