"""A queue of pairs of time and value: two readers each take a pair."""

import queue
import threading

readings = queue.Queue()
for moment in range(100):
    readings.put((moment, moment * 10))
seen = queue.SimpleQueue()


def next_reading():
    return readings.get_nowait()


def logger():
    while True:
        try:
            seen.put(next_reading())
        except queue.Empty:
            break


threads = [threading.Thread(target=logger) for _ in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
false = 0
while not seen.empty():
    moment, value = seen.get()
    if value != moment * 10:
        false += 1
print("broken: false readings" if false else "no false readings")
