"""Only known settings can be set: the keys never change, and whoever comes last sets the value."""

import threading


class Settings:
    def __init__(self, **values):
        self.values = dict(values)

    def change(self, name, value):
        if name not in self.values:
            raise KeyError(name)
        self.values[name] = value


settings = Settings(volume=3, light=5)


def user(value):
    for n in range(60):
        try:
            settings.change("volume" if n % 3 else "colour", value)
        except KeyError:
            settings.change("light", value)


threads = [threading.Thread(target=user, args=(value,)) for value in (1, 2)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print("set" if set(settings.values) == {"volume", "light"} else "broken: other settings", settings.values)
