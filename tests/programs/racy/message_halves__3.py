# expect: Page.element
# within: author
# level: suspect

"""A page of tags: an element is opened by one call and closed by another, and both calls are locked."""

import threading
from collections import deque


class Page:
    def __init__(self):
        self._tags = deque()
        self._guard = threading.Lock()

    def open(self, name):
        with self._guard:
            self._tags.append("<" + name + ">")  # bug

    def close(self, name):
        with self._guard:
            self._tags.append("</" + name + ">")  # bug

    def element(self, name):
        self.open(name)  # bug
        self.close(name)  # bug

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
