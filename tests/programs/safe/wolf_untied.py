"""Two settings by two locked calls, which nobody reads together."""

import threading


class Radio:
    def __init__(self):
        self.lock = threading.Lock()
        self.volume = 1
        self.station = "a"

    def set_volume(self, volume):
        with self.lock:
            self.volume = volume

    def set_station(self, station):
        with self.lock:
            self.station = station


radio = Radio()


def preset(volume, station):
    radio.set_volume(volume)
    radio.set_station(station)


def listener(volume, station):
    for _ in range(60):
        preset(volume, station)


threads = [threading.Thread(target=listener, args=pair) for pair in ((1, "a"), (5, "b"))]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(radio.volume, radio.station)
