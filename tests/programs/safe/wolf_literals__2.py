"""A recorder shows a red light while it records; whoever looks at it sees it on or off."""

import threading


class Recorder:
    def __init__(self):
        self.lock = threading.Lock()
        self.red = False
        self.tape = []

    def record(self, sound):
        with self.lock:
            self.red = True
        self.tape.append(sound)
        with self.lock:
            self.red = False

    def light(self):
        with self.lock:
            return "on" if self.red else "off"


recorder = Recorder()
lights = set()


def musician():
    for sound in range(60):
        recorder.record(sound)


def audience():
    for _ in range(60):
        lights.add(recorder.light())


threads = [threading.Thread(target=musician), threading.Thread(target=audience)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print("lights" if lights <= {"on", "off"} else "broken: lights")
