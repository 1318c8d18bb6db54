"""Two take from a pile while there is something on it, one after the other."""

import threading


class Pile:
    def __init__(self, things):
        self.lock = threading.Lock()
        self.things = things

    def drain(self):
        taken = 0
        with self.lock:
            while len(self.things) > 0:
                self.things.pop()
                taken += 1
        return taken


piles = [Pile(list(range(5))) for _ in range(40)]


def worker():
    for pile in piles:
        pile.drain()


threads = [threading.Thread(target=worker) for _ in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(sum(len(pile.things) for pile in piles))
