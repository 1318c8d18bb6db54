"""Results are collected one by one from a locked box, as many as there are; who gets which does not matter."""

import threading


class Box:
    def __init__(self, results):
        self.lock = threading.Lock()
        self.results = list(results)

    def take(self):
        with self.lock:
            return self.results.pop() if self.results else None


box = Box(range(120))


def take_some(number):
    taken = []
    for _ in range(number):
        result = box.take()
        if result is not None:
            taken.append(result)
    return taken


mine = [[] for _ in range(3)]


def collector(into):
    for _ in range(20):
        into.extend(take_some(3))


threads = [threading.Thread(target=collector, args=(into,)) for into in mine]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print("each once" if sorted(sum(mine, [])) == list(range(120)) else "broken: some are missing")  # noqa: RUF017
