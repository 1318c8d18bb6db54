"""Listeners are copied under the lock, and called without it; each keeps what it hears, and knows how."""

import threading


class Radio:
    def __init__(self):
        self.lock = threading.Lock()
        self.listeners = []

    def tune_in(self, listener):
        with self.lock:
            self.listeners.append(listener)

    def send(self, song):
        with self.lock:
            listeners = list(self.listeners)
        for listener in listeners:
            listener(song)


class Fan:
    def __init__(self):
        self.songs = []

    def hear(self, song):
        self.songs.append(song)


radio = Radio()
fans = [Fan() for _ in range(6)]


def station():
    for song in range(30):
        radio.send(song)


def town():
    for fan in fans:
        radio.tune_in(fan.hear)


threads = [threading.Thread(target=target) for target in (station, station, town)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(len(radio.listeners), "listeners")
