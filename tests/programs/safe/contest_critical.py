"""The section is guarded by a lock, which says whether it was free and takes it in one step."""

import threading


class Section:
    def __init__(self):
        self.lock = threading.Lock()
        self.inside = None

    def try_enter(self, name):
        if not self.lock.acquire(blocking=False):
            return False
        self.inside = name
        return True

    def leave(self):
        self.inside = None
        self.lock.release()


class Work:
    """What is done in the section, by one at a time."""

    def __init__(self):
        self.done = 0

    def do(self):
        self.done += 1


class Visitor(threading.Thread):
    def __init__(self, name, section, work):
        super().__init__(name=name)
        self.section = section
        self.work = work
        self.visits = 0

    def run(self):
        for _ in range(100):
            if self.section.try_enter(self.name):
                self.work.do()
                self.visits += 1
                self.section.leave()


def main():
    section = Section()
    work = Work()
    visitors = [Visitor(name, section, work) for name in ("first", "second", "third")]
    for visitor in visitors:
        visitor.start()
    for visitor in visitors:
        visitor.join()
    print(f"{work.done} done in {sum(visitor.visits for visitor in visitors)} visits")


main()
