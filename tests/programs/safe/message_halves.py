"""Header and body of a frame are written in one critical section."""

import threading


class Wire:
    def __init__(self):
        self.lock = threading.Lock()
        self.frames = []

    def send(self, sender, text):
        with self.lock:
            self.frames.append(("header", sender))
            self.frames.append(("body", sender, text))


wire = Wire()


def talk(sender):
    for n in range(60):
        wire.send(sender, f"message {n}")


threads = [threading.Thread(target=talk, args=(name,)) for name in ("ann", "bob", "cid")]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
mixed = sum(first[1] != second[1] for first, second in zip(wire.frames[::2], wire.frames[1::2], strict=True))
print(f"broken: {mixed} frames have the body of another" if mixed else "every header has its body")
