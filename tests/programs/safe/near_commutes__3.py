"""The part is chosen and taken out of the set in one critical section."""

import threading


class Spares:
    def __init__(self, parts):
        self.parts = set(parts)
        self.lock = threading.Lock()

    def use(self):
        with self.lock:
            part = min(self.parts, default=None)
            self.parts.discard(part)
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
