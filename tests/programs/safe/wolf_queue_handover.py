"""One thread builds an object, another changes it after it came through a queue, a third after that."""

import queue
import threading


class Parcel:
    def __init__(self, number):
        self.number = number
        self.stamps = []
        self.weight = 0


packed = queue.Queue()
stamped = queue.Queue(maxsize=4)


def packing():
    for number in range(60):
        parcel = Parcel(number)
        parcel.weight += 3
        parcel.weight += 4
        packed.put(parcel)
    packed.put(None)


def stamping():
    while True:
        parcel = packed.get()
        if parcel is None:
            break
        parcel.stamps.append(parcel.number)
        parcel.weight += len(parcel.stamps)
        stamped.put(parcel)
    stamped.put(None)


def sending():
    while True:
        parcel = stamped.get()
        if parcel is None:
            break
        parcel.stamps.clear()
        parcel.weight += 1


threads = [threading.Thread(target=packing), threading.Thread(target=stamping), threading.Thread(target=sending)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print("done")
