"""A message goes round in a copy, made in one step."""

import threading


class Bus:
    def __init__(self):
        self.handlers = []
        self.lock = threading.Lock()

    def subscribe(self, handler):
        with self.lock:
            self.handlers.append(handler)

    def unsubscribe(self, handler):
        with self.lock:
            self.handlers.remove(handler)

    def publish(self, message):
        with self.lock:
            handlers = self.handlers.copy()
        for handler in handlers:
            handler(message)


def echo(message):
    return message


def shout(message):
    return -message


bus = Bus()
bus.subscribe(shout)
bus.subscribe(abs)
bus.subscribe(str)


def publisher():
    for i in range(60):
        bus.publish(i)


def visitor():
    for i in range(120):
        if i % 2:
            bus.unsubscribe(echo)
        else:
            bus.subscribe(echo)


threads = [threading.Thread(target=publisher), threading.Thread(target=visitor)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(len(bus.handlers))
