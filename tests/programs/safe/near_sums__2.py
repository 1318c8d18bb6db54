"""A counter goes up and is read in one step."""

import threading


class Counter:
    def __init__(self):
        self.lock = threading.Lock()
        self.last = 0

    def ticket(self):
        with self.lock:
            self.last += 1
            return self.last


counter = Counter()
tickets = []


def visitor():
    for _ in range(60):
        tickets.append(counter.ticket())


threads = [threading.Thread(target=visitor) for _ in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print("tickets" if len(set(tickets)) == 180 else "broken: tickets given twice:", 180 - len(set(tickets)))
