"""Name and address by one locked call."""

import threading


class Person:
    def __init__(self):
        self.lock = threading.Lock()
        self.full_name = "ann 0"
        self.street = "street 0"

    def name(self):
        with self.lock:
            return self.full_name

    def address(self):
        with self.lock:
            return self.street

    def both(self):
        with self.lock:
            return self.full_name, self.street

    def move(self, n):
        with self.lock:
            self.full_name = f"ann {n}"
            self.street = f"street {n}"


ann = Person()
cards = []


def card(person):
    return ", ".join(person.both())


def printer():
    for _ in range(60):
        cards.append(card(ann))


def mover():
    for n in range(100):
        ann.move(n)


threads = [threading.Thread(target=printer), threading.Thread(target=mover)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
mixed = [text for text in cards if text.split(", ")[0].split()[1] != text.split()[-1]]
print("broken:" if mixed else "no mixed card", *mixed[:1])
