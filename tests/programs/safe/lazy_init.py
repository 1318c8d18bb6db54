"""Made at first use, under a lock."""

import threading


class Page:
    def __init__(self):
        self._tags = None
        self.lock = threading.Lock()

    def tags(self):
        with self.lock:
            if self._tags is None:
                self._tags = []
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
