"""A page of tags: the lock is held from the opening tag to the closing one."""

import threading
from collections import deque


class Page:
    def __init__(self):
        self._tags = deque()
        self._guard = threading.RLock()

    def open(self, name):
        with self._guard:
            self._tags.append("<" + name + ">")

    def close(self, name):
        with self._guard:
            self._tags.append("</" + name + ">")

    def element(self, name):
        with self._guard:
            self.open(name)
            self.close(name)

    def is_well_formed(self):
        tags = list(self._tags)
        return all(b == a.replace("<", "</") for a, b in zip(tags[::2], tags[1::2], strict=True))


page = Page()


def author(name):
    for _ in range(60):
        page.element(name)


threads = [threading.Thread(target=author, args=(tag,)) for tag in ("em", "q")]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print("well formed" if page.is_well_formed() else "broken: tags overlap")
