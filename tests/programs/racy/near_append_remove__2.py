# expect: Booth.visit
# within: person

"""Who comes in writes their name down, and leaves at once if there are two; if two come together, both leave."""

import threading


class Booth:
    def __init__(self):
        self.inside = []
        self.lock = threading.Lock()

    def visit(self, name):
        self.inside.append(name)  # bug
        is_alone = len(self.inside) == 1  # bug
        self.inside.remove(name)  # bug
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
