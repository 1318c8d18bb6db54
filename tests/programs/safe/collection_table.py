"""A name is looked up and entered in one locked method of the table."""

import threading


class Table:
    def __init__(self):
        self.lock = threading.Lock()
        self.rows = {}

    def put_if_new(self, name, row):
        with self.lock:
            if name in self.rows:
                return False
            self.rows[name] = row
            return True


table = Table()
registered = []


def register(name, me):
    if table.put_if_new(name, me):
        registered.append(name)


def work(me):
    for number in range(60):
        register(f"row {number}", me)


threads = [threading.Thread(target=work, args=(me,)) for me in "ab"]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print("registered" if len(registered) == len(table.rows) else "broken: a name was registered twice")
