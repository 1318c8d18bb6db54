# expect: Report.forget
# within: worker

"""The cached value is tested for and then deleted: it can be gone by then."""

import threading
from functools import cached_property


class Report:
    def __init__(self):
        self.lines = [1, 2, 3]

    @cached_property
    def total(self):
        return sum(self.lines)

    def read(self):
        return self.total

    def forget(self):
        if "total" in self.__dict__:  # bug
            try:
                del self.total  # bug
            except AttributeError:
                return False
        return True


report = Report()


def worker(forgets):
    for _ in range(400):
        if forgets:
            report.forget()
        else:
            report.read()


threads = [threading.Thread(target=worker, args=(given,)) for given in (True, False, True)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(report.total)
