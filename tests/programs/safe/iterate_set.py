"""Guests are greeted from a copy, made in one step."""

import threading


class Guests:
    def __init__(self):
        self.present = {"ann", "bob", "cid"}
        self.lock = threading.Lock()

    def greet(self):
        with self.lock:
            present = list(self.present)
        greeted = []
        for name in present:
            greeted.append("hello " + name)
        return greeted

    def come(self, name):
        with self.lock:
            self.present.add(name)

    def go(self, name):
        with self.lock:
            self.present.discard(name)


guests = Guests()


def greeting():
    for _ in range(60):
        guests.greet()


def visiting():
    for i in range(120):
        if i % 2:
            guests.go("dora")
        else:
            guests.come("dora")


threads = [threading.Thread(target=greeting), threading.Thread(target=visiting)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(len(guests.greet()))
