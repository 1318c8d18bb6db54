# expect: Job.__init__
# within: worker

"""Jobs number themselves by a counter of their class."""

import threading


class Job:
    made = 0

    def __init__(self):
        Job.made += 1  # bug
        self.number = Job.made  # bug


def worker():
    for _ in range(100):
        Job()


threads = [threading.Thread(target=worker) for _ in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(Job.made)
