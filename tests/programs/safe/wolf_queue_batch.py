"""Packers each take up to four parcels from one queue: which parcels travel together is left open."""

import queue
import threading

parcels = queue.Queue()
for number in range(120):
    parcels.put(number)
vans = queue.SimpleQueue()


def load():
    van = [parcels.get_nowait()]
    while len(van) < 4:
        try:
            van.append(parcels.get_nowait())
        except queue.Empty:
            break
    return van


def packer():
    while True:
        try:
            vans.put(load())
        except queue.Empty:
            break


threads = [threading.Thread(target=packer) for _ in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
sent = []
while not vans.empty():
    sent += vans.get()
print("sent" if sorted(sent) == list(range(120)) else "broken: sent", len(sent))
