"""The check is made under the lock, where nobody sees half of it."""

import threading


class Table:
    def __init__(self):
        self.lock = threading.Lock()
        self.ready = False
        self.content = None

    def rows(self):
        with self.lock:
            if not self.ready:
                self.ready = True
                self.content = [1, 2, 3]
            return self.content

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
