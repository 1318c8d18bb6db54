"""Two clerks take letters apart: each takes an envelope and its letter at once."""

import threading


class Inbox:
    def __init__(self, letters):
        self.lock = threading.Lock()
        self.pile = [piece for n in range(letters) for piece in (("envelope", n), ("letter", n))]

    def take(self):
        with self.lock:
            return self.pile.pop(0) if self.pile else None

    def receive(self):
        with self.lock:
            if not self.pile:
                return None, None
            return self.pile.pop(0), self.pile.pop(0)


inbox = Inbox(120)
read = []


def clerk():
    while True:
        envelope, letter = inbox.receive()
        if envelope is None:
            return
        read.append((envelope, letter))


threads = [threading.Thread(target=clerk) for _ in range(2)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
wrong = [pair for pair in read if pair[1] is None or pair[0][1] != pair[1][1]]
print("broken:" if wrong else "read:", len(wrong or read))
