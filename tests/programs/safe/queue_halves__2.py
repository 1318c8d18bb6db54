"""An alarm goes out as one pair of kind and place."""

import queue
import threading

channel = queue.SimpleQueue()
places = {"fire": "kitchen", "flood": "cellar", "thief": "hall"}


def notify(kind):
    channel.put((kind, places[kind]))


def sensor(kind, times):
    while times:
        notify(kind)
        times -= 1


threads = [threading.Thread(target=sensor, args=(kind, 60)) for kind in places]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()

pairs = [channel.get() for _ in range(channel.qsize())]
misplaced = [pair for pair in pairs if places.get(pair[0]) != pair[1]]
if misplaced:
    print("broken:", misplaced[0])
print(len(pairs), "alarms")
