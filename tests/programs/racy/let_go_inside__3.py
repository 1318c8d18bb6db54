# expect: snapshot
# within: watcher

"""Position and speed of a car; the one who reads them gives way to writers halfway, in the middle of the block."""

import threading
import time

state = {"position": 0, "speed": 0}
turn = threading.Condition(threading.Lock())


def step(speed):
    with turn:
        state["speed"] = speed  # bug
        state["position"] = speed * 10  # bug


def give_way():
    turn.release()
    time.sleep(0)
    turn.acquire()


def snapshot():
    with turn:
        position = state["position"]  # bug
        give_way()
        return position, state["speed"]  # bug


def driver():
    for speed in range(100):
        step(speed)


def watcher():
    for _ in range(60):
        position, speed = snapshot()
        if position != speed * 10:
            print("broken: at", position, "with", speed)
            break
    else:
        print("consistent")


threads = [threading.Thread(target=job) for job in (driver, watcher)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
