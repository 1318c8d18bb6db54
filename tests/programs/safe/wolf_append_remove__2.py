"""Listeners come and go; who sends goes through a copy of the list."""

import threading


class Sender:
    def __init__(self):
        self.listeners = []
        self.lock = threading.Lock()

    def listen(self, listener, rounds):
        with self.lock:
            self.listeners.append(listener)
        for n in range(rounds):
            self.send(n)
        with self.lock:
            self.listeners.remove(listener)

    def send(self, message):
        with self.lock:
            present = self.listeners.copy()
        for listener in present:
            listener(message)


sender = Sender()


def person():
    heard = []
    for _ in range(15):
        sender.listen(heard.append, 2)


threads = [threading.Thread(target=person) for _ in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print("all gone" if not sender.listeners else "broken: somebody still listens")
