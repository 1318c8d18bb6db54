# expect: Section.try_enter
# within: Visitor.run

"""A critical section guarded by a field: two threads see it free, and both go in."""

import threading


class Section:
    def __init__(self):
        self.inside = None

    def try_enter(self, name):
        if self.inside is not None:  # bug
            return False
        self.inside = name  # bug
        return True

    def leave(self):
        self.inside = None  # bug


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
