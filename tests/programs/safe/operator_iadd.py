"""operator.iadd in the place of +=, under a lock."""

import operator
import threading


class Journal:
    def __init__(self):
        self.pages = ()
        self.lock = threading.Lock()

    def record(self, page):
        with self.lock:
            self.pages = operator.iadd(self.pages, (page,))


journal = Journal()


def worker():
    for page in range(60):
        journal.record(page)


threads = [threading.Thread(target=worker) for _ in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(len(journal.pages))
