# expect: ResourceStore.load

"""A server counts its entries beside the table that it locks."""

import threading


class ResourceStore:
    def __init__(self):
        self.lock = threading.Lock()
        self.entries = {}
        self.loaded = 0

    def load(self, name):
        with self.lock:
            if name in self.entries:
                return self.entries[name]
            self.entries[name] = name.upper()
        self.loaded += 1  # bug
        return name.upper()


store = ResourceStore()


def serve(me):
    for number in range(60):
        store.load(f"{me}{number}")


threads = [threading.Thread(target=serve, args=(me,)) for me in "abc"]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print("counted" if store.loaded == len(store.entries) else "broken: the count is not that of the entries")
