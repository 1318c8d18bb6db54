"""What was collected is taken out under the lock, and delivered without it: only the order of batches may differ."""

import threading


class Batcher:
    def __init__(self, size):
        self.lock = threading.Lock()
        self.size = size
        self.pending = []
        self.sent = []

    def add(self, record):
        full = None
        with self.lock:
            self.pending.append(record)
            if len(self.pending) >= self.size:
                full, self.pending = self.pending, []
        if full is not None:
            self.sent.append(full)


batcher = Batcher(4)


def produce(first):
    for number in range(first, first + 60):
        batcher.add(number)


threads = [threading.Thread(target=produce, args=(first,)) for first in (0, 100, 200)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
records = sorted(number for batch in batcher.sent for number in batch)
print("sent" if len(records) == 180 == len(set(records)) else "broken: sent", len(records))
