"""A list of waiting passengers: the bus looks whether somebody waits, drives up, and looks again to take one."""

import threading
import time

waiting = [f"passenger {n}" for n in range(80)]
lock = threading.Lock()
rides = []


def is_anybody_there():
    with lock:
        return len(waiting) > 0


def pick_up():
    if not is_anybody_there():
        return False
    time.sleep(0)
    with lock:
        if len(waiting) > 0:
            rides.append(waiting.pop(0))
    return True


def bus():
    while pick_up():
        pass


threads = [threading.Thread(target=bus) for _ in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print("all rode once" if len(set(rides)) == len(rides) == 80 else "broken: rides")
