"""One buffer appends another one: it asks for all of it at once."""

import threading


class TextBuffer:
    def __init__(self, text):
        self.lock = threading.RLock()
        self.letters = list(text)

    def all_letters(self):
        with self.lock:
            return [self.letters[place] for place in range(len(self.letters))]

    def replace(self, text):
        with self.lock:
            self.letters = list(text)

    def append_all(self, other):
        letters = other.all_letters()
        with self.lock:
            self.letters.extend(letters)


short, long = "ab", "abcdef"
source = TextBuffer(long)
torn = []


def change():
    for number in range(60):
        source.replace(long if number % 2 else short)


def collect():
    for _ in range(60):
        buffer = TextBuffer("")
        try:
            buffer.append_all(source)
        except IndexError:
            torn.append(1)


threads = [threading.Thread(target=change), threading.Thread(target=collect)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(f"broken: {len(torn)} times cut off" if torn else "appended")
