"""The next number is taken and counted on by one locked call; another one shows how many there were, and counts."""

import threading


class Desk:
    def __init__(self):
        self.lock = threading.Lock()
        self.next_number = 1
        self.asked = 0
        self.tickets = {}

    def number(self):
        with self.lock:
            self.next_number += 1
            return self.next_number - 1

    def count_asked(self):
        with self.lock:
            self.asked += 1

    def ticket(self, owner):
        number = self.number()
        self.count_asked()
        with self.lock:
            self.tickets[number] = owner
        return number


desk = Desk()
given = []


def printer(name):
    for _ in range(60):
        given.append(desk.ticket(name))


printers = [threading.Thread(target=printer, args=(name,)) for name in ("hall", "door", "bar")]
for one in printers:
    one.start()
for one in printers:
    one.join()
print("broken: one number twice" if len(desk.tickets) < len(given) else "each has a number")
