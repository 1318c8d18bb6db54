# expect: card
# within: printer

"""Name and address by two locked calls, neither of which knows the other; but both end up in one card."""

import threading


class Person:
    def __init__(self):
        self.lock = threading.Lock()
        self.full_name = "ann 0"
        self.street = "street 0"

    def name(self):
        with self.lock:
            return self.full_name  # bug

    def address(self):
        with self.lock:
            return self.street  # bug

    def both(self):
        with self.lock:
            return self.full_name, self.street

    def move(self, n):
        with self.lock:
            self.full_name = f"ann {n}"  # bug
            self.street = f"street {n}"  # bug


ann = Person()
cards = []


def card(person):
    return f"{person.name()}, {person.address()}"  # bug


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
