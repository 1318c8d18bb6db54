"""Someone shows how far the work has come; a number that is a moment old is fine."""

import threading


class Progress:
    def __init__(self):
        self.lock = threading.Lock()
        self.done = 0

    def step(self):
        with self.lock:
            self.done += 1


progress = Progress()


def worker():
    for _ in range(100):
        progress.step()


def display():
    for _ in range(100):
        shown = progress.done
        str(shown)


threads = [threading.Thread(target=worker), threading.Thread(target=worker), threading.Thread(target=display)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(progress.done)
