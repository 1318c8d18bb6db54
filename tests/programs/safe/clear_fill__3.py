"""A forecast is set by one locked setter."""

import threading


class Forecast:
    def __init__(self):
        self.lock = threading.Lock()
        self.text = "sun"

    def reset(self):
        with self.lock:
            self.text = ""

    def set(self, text):
        with self.lock:
            self.text = text

    def read(self):
        with self.lock:
            return self.text


class Weather:
    def __init__(self):
        self.forecast = Forecast()

    def update(self, text):
        self.forecast.set(text)

    def watch(self):
        for n in range(60):
            self.update("rain" if n % 2 else "sun")


weather = Weather()
shown = []


def screen():
    for _ in range(60):
        shown.append(weather.forecast.read())


threads = [threading.Thread(target=weather.watch), threading.Thread(target=screen)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print("broken: an empty forecast was shown" if "" in shown else "always a forecast")
