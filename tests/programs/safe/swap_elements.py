"""A swap is one critical section."""

import threading


class Deck:
    def __init__(self):
        self.cards = list(range(6))
        self.lock = threading.Lock()

    def swap(self, i, j):
        with self.lock:
            kept = self.cards[i]
            self.cards[i] = self.cards[j]
            self.cards[j] = kept


deck = Deck()


def shuffling(step):
    for i in range(100):
        deck.swap(i % 6, (i + step) % 6)


threads = [threading.Thread(target=shuffling, args=(given,)) for given in (1, 2, 5)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(sorted(deck.cards))
