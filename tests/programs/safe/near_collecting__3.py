"""A loop hands blocks to the chain while it holds the chain's lock."""

import threading


class Chain:
    def __init__(self):
        self.lock = threading.RLock()
        self.blocks = [(0, None)]

    def tip(self):
        with self.lock:
            return len(self.blocks) - 1

    def add(self, text, parent):
        with self.lock:
            self.blocks.append((text, parent))
            return len(self.blocks) - 1


chain = Chain()


def extend(texts):
    with chain.lock:
        last = chain.tip()
        for text in texts:
            last = chain.add(text, last)
        return last


def miner(name):
    for n in range(20):
        extend([f"{name} {n} {part}" for part in "abc"])


threads = [threading.Thread(target=miner, args=(name,)) for name in ("x", "y")]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
forks = sum(parent != at - 1 for at, (_, parent) in enumerate(chain.blocks) if at)
print(f"broken: the chain forks {forks} times" if forks else "one chain")
