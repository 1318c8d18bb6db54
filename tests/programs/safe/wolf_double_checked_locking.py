"""Double-checked locking done right: checked again under the lock, and finished before it is shown."""

import threading


class Table:
    def __init__(self):
        self.lock = threading.Lock()
        self.content = None

    def rows(self):
        if self.content is None:
            with self.lock:
                if self.content is None:
                    rows = [1, 2]
                    rows.append(3)
                    self.content = rows
        return self.content


tables = [Table() for _ in range(100)]


def worker():
    for table in tables:
        table.rows()


threads = [threading.Thread(target=worker) for _ in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(sum(len(table.rows()) for table in tables))
