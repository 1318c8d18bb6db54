# expect: register

"""Each method of the table is locked, but a name is looked up and entered by two of them."""

import threading


class Table:
    def __init__(self):
        self.lock = threading.Lock()
        self.rows = {}

    def has(self, name):
        with self.lock:
            return name in self.rows  # bug

    def put(self, name, row):
        with self.lock:
            self.rows[name] = row  # bug


table = Table()
registered = []


def register(name, me):
    if not table.has(name):  # bug
        table.put(name, me)  # bug
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
