"""A loop goes through a list by index as far as it has grown, while another thread appends."""

import threading


class Journal:
    def __init__(self):
        self.entries = []

    def write(self, entry):
        self.entries.append(entry)

    def total(self):
        at = total = 0
        while at < len(self.entries):
            total += self.entries[at]
            at += 1
        return total


journal = Journal()
totals = []


def accountant():
    for _ in range(25):
        totals.append(journal.total())


def clerk():
    for _ in range(100):
        journal.write(1)


threads = [threading.Thread(target=accountant), threading.Thread(target=clerk)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print("never less" if totals == sorted(totals) else "broken: a total went down")
