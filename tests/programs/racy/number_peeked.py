# expect: Desk.ticket
# within: printer

"""The next number is asked for, and counted on by a second locked call: two tickets get one number."""

import threading


class Desk:
    def __init__(self):
        self.lock = threading.Lock()
        self.next_number = 1
        self.tickets = {}

    def peek(self):
        with self.lock:
            return self.next_number  # bug

    def advance(self):
        with self.lock:
            self.next_number += 1  # bug

    def ticket(self, owner):
        number = self.peek()  # bug
        self.advance()  # bug
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
