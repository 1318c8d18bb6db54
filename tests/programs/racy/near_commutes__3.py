# expect: Spares.use
# within: mechanic

"""Discarding twice is the same as once; here it means that two mechanics use the same part."""

import threading


class Spares:
    def __init__(self, parts):
        self.parts = set(parts)
        self.lock = threading.Lock()

    def use(self):
        part = min(self.parts, default=None)  # bug
        self.parts.discard(part)  # bug
        return part


spares = Spares(range(150))
used = []


def mechanic():
    for _ in range(50):
        try:
            used.append(spares.use())
        except RuntimeError:
            used.append(-1)


threads = [threading.Thread(target=mechanic) for _ in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print("each once" if len(set(used)) == 150 else f"broken: {150 - len(set(used))} parts were used twice")
