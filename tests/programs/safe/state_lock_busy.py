"""To find the lock free is to take it."""

import threading


class Page:
    def __init__(self):
        self.busy = threading.Lock()
        self.fetched = 0

    def refresh(self):
        if self.busy.acquire(blocking=False):
            try:
                self.fetched += 1
            finally:
                self.busy.release()


def worker(page):
    for _ in range(50):
        page.refresh()


page = Page()
threads = [threading.Thread(target=worker, args=(page,)) for _ in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(page.fetched > 0, page.busy.locked())
