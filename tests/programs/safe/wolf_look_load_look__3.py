"""A parser for each language, by two locked methods: look, build, and offer it; the answer is what is kept."""

import threading


class Parsers:
    def __init__(self):
        self._parsers = {}
        self._mutex = threading.Lock()

    def look(self, language):
        with self._mutex:
            return self._parsers.get(language)

    def offer(self, language, parser):
        with self._mutex:
            there = self._parsers.get(language)
            if there is None:
                self._parsers[language] = there = parser
            return there

    def parser(self, language):
        parser = self.look(language)
        if parser is None:
            parser = self.offer(language, ("parser of", language, object()))
        return parser


parsers = Parsers()
used = {}


def compiler(me):
    used[me] = [parsers.parser(f"language {n}") for n in range(60)]


threads = [threading.Thread(target=compiler, args=(me,)) for me in (1, 2, 3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print("shared" if used[1] == used[2] == used[3] else "broken: not shared")
