# expect: Tail.new
# within: reader

"""New entries of a log are cut off at the cursor, and the cursor is set to a length that is read later."""

import threading


class Tail:
    def __init__(self, log):
        self.log = log
        self.at = 0

    def new(self):
        entries = self.log[self.at :]  # bug
        self.at = len(self.log)  # bug
        return entries


log = []
tail = Tail(log)
read = []


def writer():
    for n in range(120):
        log.append(n)


def reader():
    for _ in range(80):
        read.extend(tail.new())


threads = [threading.Thread(target=writer), threading.Thread(target=reader)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
read.extend(tail.new())
print("all read" if len(read) == 120 else f"broken: {120 - len(read)} entries were skipped")
