# expect: Roster.reload
# within: office
# level: suspect

"""The names on a roster go and come back in two critical sections."""

import threading


class Roster:
    def __init__(self):
        self._names = ["ann", "bob"]
        self._lock = threading.Lock()

    def _forget(self):
        with self._lock:
            self._names.clear()  # bug

    def _learn(self):
        with self._lock:
            self._names.extend(("ann", "bob"))  # bug

    def reload(self):
        self._forget()  # bug
        self._learn()  # bug

    def __len__(self):
        with self._lock:
            return len(self._names)  # bug


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
