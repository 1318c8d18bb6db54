# expect: Pile.drain
# within: worker

"""Two take from a pile while there is something on it: both see the last thing, and one finds nothing."""

import threading


class Pile:
    def __init__(self, things):
        self.things = things

    def drain(self):
        taken = 0
        try:
            while len(self.things) > 0:  # bug
                self.things.pop()  # bug
                taken += 1
        except IndexError:
            pass
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
