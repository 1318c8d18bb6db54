"""The names on a roster are replaced in one critical section."""

import threading


class Roster:
    def __init__(self):
        self._names = ["ann", "bob"]
        self._lock = threading.Lock()

    def _forget(self):
        with self._lock:
            self._names.clear()

    def _learn(self):
        with self._lock:
            self._names.extend(("ann", "bob"))

    def reload(self):
        with self._lock:
            self._names[:] = ["ann", "bob"]

    def __len__(self):
        with self._lock:
            return len(self._names)


roster = Roster()
sizes = set()


def office():
    for _ in range(60):
        roster.reload()


def caller():
    for _ in range(60):
        sizes.add(len(roster))


threads = [threading.Thread(target=caller), threading.Thread(target=office)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print("broken: an empty roster" if 0 in sizes else f"sizes {sizes}")
