"""A logger: everybody appends, and someone looks now and then how long it has become."""

import threading


class Log:
    def __init__(self):
        self.lines = []

    def write(self, level, text):
        self.lines.append(level + " " + text)

    def size(self):
        return len(self.lines)


log = Log()


def worker(name):
    for i in range(60):
        log.write("info", name + " begins")
        log.write("info", name + " ends " + str(i))


def watcher():
    for _ in range(60):
        log.size()


threads = [
    threading.Thread(target=worker, args=("ann",)),
    threading.Thread(target=worker, args=("bob",)),
    threading.Thread(target=watcher),
]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(log.size())
