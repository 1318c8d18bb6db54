# expect: Page.refresh
# within: worker

"""A refresh is skipped while another one runs, but two may find the lock free: then both refresh, one by one."""

import threading


class Page:
    def __init__(self):
        self.busy = threading.Lock()
        self.fetched = 0

    def refresh(self):
        if not self.busy.locked():  # bug
            with self.busy:  # bug
                self.fetched += 1


def worker(page):
    for _ in range(50):
        page.refresh()


page = Page()
threads = [threading.Thread(target=worker, args=(page,)) for _ in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(page.fetched > 0)
