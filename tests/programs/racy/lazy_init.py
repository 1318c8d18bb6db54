# expect: Page.tags
# within: worker

"""Made at first use, by two threads: the one list hides what was put into the other."""

import threading


class Page:
    def __init__(self):
        self._tags = None

    def tags(self):
        if self._tags is None:  # bug
            self._tags = []  # bug
        return self._tags


together = threading.Barrier(3)
pages = [Page() for _ in range(100)]


def worker():
    for page in pages:
        together.wait()
        page.tags()


threads = [threading.Thread(target=worker) for _ in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(len(pages))
