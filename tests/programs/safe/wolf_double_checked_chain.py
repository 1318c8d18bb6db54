"""Double-checked locking done right, of two things: who has checked again sees both."""

import threading


class Reader:
    """One of several that go along the same chain; whoever comes to its end makes the next link."""

    def __init__(self, source, link, lock):
        self.source = source
        self.link = link
        self.lock = lock

    def step(self):
        link = self.link
        if link[1] is None:
            with self.lock:
                if link[1] is None:
                    link[0] = next(self.source)
                    link[1] = [None, None]
        value, self.link = link
        return value


class Sum(threading.Thread):
    def __init__(self, reader):
        super().__init__()
        self.reader = reader
        self.total = 0

    def run(self):
        for _ in range(300):
            self.total += self.reader.step()


def main():
    source, first, lock = iter(range(300)), [None, None], threading.Lock()
    sums = [Sum(Reader(source, first, lock)) for _ in range(3)]
    for thread in sums:
        thread.start()
    for thread in sums:
        thread.join()
    print(*(thread.total for thread in sums))


main()
