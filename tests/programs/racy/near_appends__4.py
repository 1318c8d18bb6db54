# expect: Line.start
# within: operator

"""Each part is written down under a lock of its own; the screen takes both for one moment of the line."""

import threading


class Line:
    def __init__(self):
        self.lock = threading.Lock()
        self.current = "none"
        self.started = ["none"]

    def start(self, job):
        with self.lock:
            self.current = job  # bug
        with self.lock:
            self.started.append(job)  # bug

    def screen(self):
        with self.lock:
            return self.started[-1] == self.current


line = Line()
wrong = []


def operator(name):
    for number in range(60):
        line.start((name, number))


def watcher():
    for _ in range(100):
        if not line.screen():
            wrong.append(line.current)


threads = [threading.Thread(target=operator, args=(name,)) for name in "ab"]
threads.append(threading.Thread(target=watcher))
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print("broken: another job was started last" if wrong else "the screen is right")
