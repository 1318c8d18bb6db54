"""The cached value is dropped in one step, under the lock under which it is made."""

import threading
from functools import cached_property


class Report:
    def __init__(self):
        self.lines = [1, 2, 3]
        self.lock = threading.Lock()

    @cached_property
    def total(self):
        return sum(self.lines)

    def read(self):
        with self.lock:
            return self.total

    def forget(self):
        with self.lock:
            if "total" in self.__dict__:
                del self.total
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
