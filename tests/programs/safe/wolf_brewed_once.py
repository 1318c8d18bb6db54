"""Tea is brewed once for each table, by a function that remembers in its own variables whether it has."""

import threading
import time


def once(brew):
    kettle = threading.Lock()
    brewed = False
    tea = None

    def pour():
        nonlocal brewed, tea
        if not brewed:
            with kettle:
                if not brewed:
                    tea = brew()
                    brewed = True
        return tea

    return pour


def brewing(table):
    def brew():
        time.sleep(0)
        return f"tea for table {table}"

    return brew


pots = [once(brewing(table)) for table in range(80)]
empty = []


def waiter():
    for pot in pots:
        if pot() is None:
            empty.append(pot)


threads = [threading.Thread(target=waiter) for _ in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print("broken: an empty cup" if empty else "everybody has tea")
