"""Two marks of a door are set in one critical section."""

import threading


class Door:
    def __init__(self):
        self.mutex = threading.Lock()
        self.is_open = True
        self.is_bolted = False

    def lock_up(self):
        with self.mutex:
            self.is_open = False
            self.is_bolted = True

    def unlock(self):
        with self.mutex:
            self.is_bolted = False
            self.is_open = True

    def is_unsafe(self):
        with self.mutex:
            return not self.is_open and not self.is_bolted


door = Door()


def guard():
    for _ in range(60):
        door.lock_up()
        door.unlock()


def alarm():
    rings = 0
    for _ in range(80):
        rings += door.is_unsafe()
    print(f"broken: {rings} false alarms" if rings else "quiet")


threads = [threading.Thread(target=guard), threading.Thread(target=alarm)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
