# expect: Table.rows
# within: worker

"""Double-checked locking that says "ready" before it is: the check outside the lock sees half of it."""

import threading


class Table:
    def __init__(self):
        self.lock = threading.Lock()
        self.ready = False
        self.content = None

    def rows(self):
        if not self.ready:  # bug
            with self.lock:
                if not self.ready:
                    self.ready = True  # bug
                    self.content = [1, 2, 3]  # bug
        return self.content  # bug

    def forget(self):
        with self.lock:
            self.ready = False
            self.content = None


table = Table()


def worker():
    for i in range(200):
        if i % 4 == 3:
            table.forget()
        else:
            table.rows()


threads = [threading.Thread(target=worker) for _ in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(table.rows())
