# expect: next_reading
# within: logger

"""A queue of time and value by turns: two readers each take a time and the value after it."""

import queue
import threading

readings = queue.Queue()
for moment in range(100):
    readings.put(moment)
    readings.put(moment * 10)
seen = queue.SimpleQueue()


def next_reading():
    moment = readings.get_nowait()  # bug
    value = readings.get_nowait()  # bug
    return moment, value


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
