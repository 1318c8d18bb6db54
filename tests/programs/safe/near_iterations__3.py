"""A walk along the stations of a line holds the lock from the first to the last."""

import threading


class Line:
    def __init__(self):
        self.lock = threading.Lock()
        self.after = {"start": "north", "north": "end"}

    def reroute(self, via):
        with self.lock:
            old = self.after["start"]
            del self.after[old]
            self.after["start"] = via
            self.after[via] = "end"

    def third(self):
        station = "start"
        with self.lock:
            for _ in range(2):
                station = self.after.get(station, "nowhere")
        return station


line = Line()
arrived = set()


def passenger():
    for _ in range(80):
        arrived.add(line.third())


def planner():
    for n in range(100):
        line.reroute("south" if n % 2 else "north")


threads = [threading.Thread(target=passenger), threading.Thread(target=planner)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print("arrived" if arrived == {"end"} else "broken: arrived", *sorted(arrived))
