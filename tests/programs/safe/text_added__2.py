"""A section of a table is its title row and its figures, added together."""

import threading


class Table:
    def __init__(self):
        self.rows = []
        self.mutex = threading.Lock()

    def add_section(self, title, figures):
        self.mutex.acquire()
        self.rows += [title]
        self.rows += figures
        self.mutex.release()


def department(table, title, first):
    for _ in range(50):
        table.add_section(title, [first, first + 1])


table = Table()
threads = [threading.Thread(target=department, args=(table, t, n)) for t, n in (("sales", 1), ("staff", 10))]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
sections = [tuple(table.rows[at : at + 3]) for at in range(0, len(table.rows), 3)]
strange = set(sections) - {("sales", 1, 2), ("staff", 10, 11)}
print(f"broken: {len(strange)} sections are mixed" if strange else f"{len(sections)} sections")
