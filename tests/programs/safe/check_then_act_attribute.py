"""The test and the move are one critical section."""

import threading


class Room:
    def __init__(self):
        self.owner = None
        self.lock = threading.Lock()

    def enter(self, name):
        with self.lock:
            if self.owner is None:
                self.owner = name

    def leave(self):
        with self.lock:
            self.owner = None


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
