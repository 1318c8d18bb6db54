# expect: Line.third
# within: passenger

"""A walk along the stations of a line takes the lock for each; the line is rerouted under the walker's feet."""

import threading


class Line:
    def __init__(self):
        self.lock = threading.Lock()
        self.after = {"start": "north", "north": "end"}

    def reroute(self, via):
        with self.lock:
            old = self.after["start"]
            del self.after[old]  # bug
            self.after["start"] = via  # bug
            self.after[via] = "end"  # bug

    def third(self):
        station = "start"
        for _ in range(2):
            with self.lock:
                station = self.after.get(station, "nowhere")  # bug
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
