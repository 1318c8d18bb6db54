# expect: Deck.swap
# within: shuffling

"""Two swaps at a time lose one card and double another."""

import threading


class Deck:
    def __init__(self):
        self.cards = list(range(6))

    def swap(self, i, j):
        kept = self.cards[i]  # bug
        self.cards[i] = self.cards[j]  # bug
        self.cards[j] = kept  # bug


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
