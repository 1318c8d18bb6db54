# expect: Guests.greet
# within: greeting

"""Guests come and go while they are greeted."""

import threading


class Guests:
    def __init__(self):
        self.present = {"ann", "bob", "cid"}

    def greet(self):
        greeted = []
        try:
            for name in self.present:  # bug
                greeted.append("hello " + name)
        except RuntimeError:
            pass
        return greeted

    def come(self, name):
        self.present.add(name)  # bug

    def go(self, name):
        self.present.discard(name)  # bug


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
