"""One method appends twice. Others' lines may come in between, and nobody minds."""

import threading


class Notes:
    def __init__(self):
        self.lines = []

    def meeting(self, name):
        self.lines.append("comes " + name)
        self.lines.append("goes " + name)


notes = Notes()


def worker(name):
    for _ in range(60):
        notes.meeting(name)


threads = [threading.Thread(target=worker, args=(given,)) for given in ("ann", "bob", "cid")]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(len(notes.lines))
