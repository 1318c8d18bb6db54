"""A list counts its changes under its lock, and somebody looks at the count without it: each look is one step."""

import threading


class CountedList:
    def __init__(self):
        self.lock = threading.Lock()
        self.items = []
        self.changes = 0

    def add(self, item):
        with self.lock:
            self.changes += 1
            self.items.append(item)

    def has_changed(self, since):
        return self.changes != since


counted = CountedList()
looks = []


def fill(me):
    for number in range(60):
        counted.add((me, number))


def watch():
    for number in range(60):
        looks.append(counted.has_changed(number))


threads = [threading.Thread(target=fill, args=(me,)) for me in "ab"] + [threading.Thread(target=watch)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print("watched" if counted.changes == len(counted.items) else "broken: changes were lost")
