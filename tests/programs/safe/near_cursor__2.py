"""The log only grows, and two readers share the cursor, which is read and moved in one critical section."""

import threading


class Feed:
    def __init__(self, entries):
        self.lock = threading.Lock()
        self.entries = list(entries)
        self.cursor = 0

    def next(self):
        with self.lock:
            at = self.cursor
            if at >= len(self.entries):
                return None
            self.cursor = at + 1
            return self.entries[at]


feed = Feed(range(100))
read = []


def consumer():
    for _ in range(100):
        entry = feed.next()
        if entry is None:
            break
        read.append(entry)


threads = [threading.Thread(target=consumer) for _ in range(2)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(f"broken: {len(read) - len(set(read))} entries were read twice" if len(read) != len(set(read)) else "each once")
