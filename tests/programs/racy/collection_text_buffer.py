# expect: TextBuffer.append_all

"""One buffer appends another one: it holds its own lock, and asks the other one twice."""

import threading


class TextBuffer:
    def __init__(self, text):
        self.lock = threading.RLock()
        self.letters = list(text)

    def length(self):
        with self.lock:
            return len(self.letters)  # bug

    def letter(self, place):
        with self.lock:
            return self.letters[place]  # bug

    def replace(self, text):
        with self.lock:
            self.letters = list(text)  # bug

    def append_all(self, other):
        with self.lock:
            for place in range(other.length()):  # bug
                self.letters.append(other.letter(place))  # bug


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
