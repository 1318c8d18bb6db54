"""Visitors of rooms by name: the number of each goes up at the door, and down at the other door."""

import threading


class Museum:
    def __init__(self, rooms):
        self.visitors = dict.fromkeys(rooms, 0)
        self.lock = threading.Lock()

    def visit(self, room, look):
        with self.lock:
            number = self.visitors[room]
            number = number + 1
            self.visitors[room] = number
        look(room)
        with self.lock:
            number = self.visitors[room]
            self.visitors[room] = number - 1


museum = Museum(["hall", "attic"])
looks = []


def visitor():
    for n in range(50):
        museum.visit("attic" if n % 2 else "hall", looks.append)


threads = [threading.Thread(target=visitor) for _ in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print("empty" if not any(museum.visitors.values()) else f"broken: {museum.visitors}")
