"""What the threads run is decorated: three calls until the loop, which adds in one step."""

import functools
import threading


def named(function):
    @functools.wraps(function)
    def wrapper(*given, **more):
        return function(*given, **more)

    return wrapper


class Rainfall:
    def __init__(self):
        self.lock = threading.Lock()
        self.millimetres = 0

    def get(self):
        with self.lock:
            return self.millimetres

    def add(self, value):
        with self.lock:
            self.millimetres += value


rainfall = Rainfall()


def measure(times):
    for _ in range(times):
        rainfall.add(2)


class Station:
    def __init__(self, times):
        self.times = times

    @named
    def run(self):
        measure(self.times)


stations = [Station(times) for times in (60, 70, 80)]
threads = [threading.Thread(target=station.run) for station in stations]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print("broken: rain is missing" if rainfall.get() != 420 else "all rain measured")
