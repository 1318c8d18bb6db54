"""A cache that looks, loads and looks again, and counts its hits and misses under the same lock."""

import threading


class Translations:
    def __init__(self):
        self.lock = threading.Lock()
        self.known = {}
        self.hits = 0
        self.misses = 0

    def translate(self, word):
        with self.lock:
            if word in self.known:
                self.hits += 1
                return self.known[word]
            self.misses += 1
        meaning = word[::-1]
        with self.lock:
            if word not in self.known:
                self.known[word] = meaning
            return self.known[word]


translations = Translations()


def tourist():
    for n in range(90):
        translations.translate(f"word {n % 30}")


threads = [threading.Thread(target=tourist) for _ in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
asked = translations.hits + translations.misses
print(asked, "asked" if asked == 270 else "asked, broken: 270 were")
