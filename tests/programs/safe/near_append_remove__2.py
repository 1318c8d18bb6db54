"""Who comes in looks and writes their name down in one critical section."""

import threading


class Booth:
    def __init__(self):
        self.inside = []
        self.lock = threading.Lock()

    def visit(self, name):
        with self.lock:
            self.inside.append(name)
            is_alone = len(self.inside) == 1
            self.inside.remove(name)
            return is_alone


booth = Booth()
refused = []


def person(name):
    for _ in range(60):
        if not booth.visit(name):
            refused.append(name)


threads = [threading.Thread(target=person, args=(name,)) for name in ("ann", "bob")]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(f"broken: {len(refused)} times nobody could vote" if refused else "all voted")
