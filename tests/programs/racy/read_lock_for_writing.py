# expect: Store.bump
# within: worker

"""A read-write lock, held for reading while writing: several are let in at a time."""

import threading


class ReadWriteLock:
    def __init__(self):
        self.changed = threading.Condition()
        self.readers = 0
        self.writing = False

    def acquire_read(self):
        with self.changed:
            while self.writing:
                self.changed.wait()
            self.readers += 1

    def release_read(self):
        with self.changed:
            self.readers -= 1
            self.changed.notify_all()

    def acquire_write(self):
        with self.changed:
            while self.writing or self.readers:
                self.changed.wait()
            self.writing = True

    def release_write(self):
        with self.changed:
            self.writing = False
            self.changed.notify_all()


class Store:
    def __init__(self):
        self.guard = ReadWriteLock()
        self.value = 0

    def get(self):
        self.guard.acquire_read()
        try:
            return self.value
        finally:
            self.guard.release_read()

    def bump(self):
        self.guard.acquire_read()
        try:
            value = self.value  # bug
            self.value = value + 1  # bug
        finally:
            self.guard.release_read()


store = Store()


def worker():
    for i in range(200):
        if i % 4:
            store.bump()
        else:
            store.get()


threads = [threading.Thread(target=worker) for _ in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(store.get())
