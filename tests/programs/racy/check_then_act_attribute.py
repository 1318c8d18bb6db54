# expect: Room.enter
# within: worker

"""Two can find the room without an owner, and both move in."""

import threading


class Room:
    def __init__(self):
        self.owner = None

    def enter(self, name):
        if self.owner is None:  # bug
            self.owner = name  # bug

    def leave(self):
        self.owner = None  # bug


room = Room()


def worker(name):
    for i in range(200):
        if i % 2:
            room.leave()
        else:
            room.enter(name)


threads = [threading.Thread(target=worker, args=(given,)) for given in ("ann", "bob")]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(room.owner)
