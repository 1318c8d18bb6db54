"""setdefault is one step."""

import threading


class Owners:
    def __init__(self):
        self.owners = {}

    def first(self, key, name):
        return self.owners.setdefault(key, name)

    def drop(self, key):
        self.owners.pop(key, None)


owners = Owners()


def worker(name):
    for i in range(200):
        if i % 2:
            owners.drop(i % 3)
        else:
            owners.first(i % 3, name)


threads = [threading.Thread(target=worker, args=(given,)) for given in ("ann", "bob", "cid")]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(len(owners.owners) <= 3)
