# expect: extend
# within: miner

"""A loop only hands blocks to the chain and keeps what it gets, but each block names the one that it got before."""

import threading


class Chain:
    def __init__(self):
        self.lock = threading.RLock()
        self.blocks = [(0, None)]

    def tip(self):
        with self.lock:
            return len(self.blocks) - 1  # bug

    def add(self, text, parent):
        with self.lock:
            self.blocks.append((text, parent))  # bug
            return len(self.blocks) - 1


chain = Chain()


def extend(texts):
    last = chain.tip()  # bug
    for text in texts:
        last = chain.add(text, last)  # bug
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
