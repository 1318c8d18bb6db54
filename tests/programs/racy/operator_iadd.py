# expect: Journal.record
# within: worker

"""operator.iadd in the place of +=, on an immutable value: a new one is stored."""

import operator
import threading


class Journal:
    def __init__(self):
        self.pages = ()

    def record(self, page):
        self.pages = operator.iadd(self.pages, (page,))  # bug


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
