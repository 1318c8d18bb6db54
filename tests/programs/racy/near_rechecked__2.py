# expect: Release.raise_to
# within: builder

"""The same question is asked without and with the lock, but the answer counts on from the first look."""

import threading


class Release:
    def __init__(self):
        self.number = 0
        self.builds = 0
        self.lock = threading.Lock()

    def raise_to(self, goal):
        number = self.number  # bug
        if number < goal:
            with self.lock:
                if self.number < goal:
                    self.builds += 1
                    self.number = number + 1  # bug


release = Release()


def builder():
    for _ in range(80):
        release.raise_to(1000)


threads = [threading.Thread(target=builder) for _ in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
told = release.number, release.builds
print("numbers" if told[0] == told[1] else "broken: number and builds", *told)
