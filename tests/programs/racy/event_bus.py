# expect: Bus.publish
# within: publisher

"""A handler leaves while a message goes round: the one after it is skipped."""

import threading


class Bus:
    def __init__(self):
        self.handlers = []

    def subscribe(self, handler):
        self.handlers.append(handler)  # bug

    def unsubscribe(self, handler):
        self.handlers.remove(handler)  # bug

    def publish(self, message):
        for handler in self.handlers:  # bug
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
