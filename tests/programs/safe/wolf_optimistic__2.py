"""A page is edited without the lock, and saved if nobody else saved it meanwhile; else one begins again."""

import threading


class OutdatedError(Exception):
    pass


class Wiki:
    def __init__(self):
        self.lock = threading.Lock()
        self.page, self.edition = [], 0

    def open(self):
        with self.lock:
            return list(self.page), self.edition

    def save(self, page, edition):
        with self.lock:
            if edition != self.edition:
                raise OutdatedError
            self.page, self.edition = page, edition + 1


wiki = Wiki()


def add(line):
    saved = False
    while not saved:
        page, edition = wiki.open()
        page.append(line)
        try:
            wiki.save(page, edition)
            saved = True
        except OutdatedError:
            pass


def author():
    for number in range(20):
        add(number)


threads = [threading.Thread(target=author) for _ in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(len(wiki.page), "lines", wiki.edition, "editions")
