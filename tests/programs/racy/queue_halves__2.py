# expect: notify
# within: sensor
# level: suspect

"""An alarm goes out as a kind and a place, one put after the other."""

import queue
import threading

channel = queue.SimpleQueue()
places = {"fire": "kitchen", "flood": "cellar", "thief": "hall"}


def notify(kind):
    channel.put(kind)  # bug
    channel.put(places[kind])  # bug


def sensor(kind, times):
    while times:
        notify(kind)
        times -= 1


threads = [threading.Thread(target=sensor, args=(kind, 60)) for kind in places]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()

got = [channel.get() for _ in range(channel.qsize())]
pairs = list(zip(got[0::2], got[1::2], strict=True))
misplaced = [pair for pair in pairs if places.get(pair[0]) != pair[1]]
if misplaced:
    print("broken:", misplaced[0])
print(len(pairs), "alarms")
