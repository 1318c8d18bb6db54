# expect: edited
# within: author

"""An editing context reads the text, hands it out, and writes it back at the end."""

import threading
from contextlib import contextmanager


class Document:
    def __init__(self):
        self.lock = threading.RLock()
        self.words = 0


@contextmanager
def edited(document):
    with document.lock:
        draft = {"words": document.words}  # bug
    yield draft
    with document.lock:
        document.words = draft["words"]  # bug


paper = Document()


def author():
    for _ in range(50):
        with edited(paper) as draft:
            draft["words"] += 7


threads = [threading.Thread(target=author) for _ in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print("words" if paper.words == 1050 else "broken: words", paper.words, "of 1050")
