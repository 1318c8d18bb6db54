# expect: Owners.first
# within: worker

"""The first one to come owns the key; two can be first."""

import threading


class Owners:
    def __init__(self):
        self.owners = {}

    def first(self, key, name):
        if key not in self.owners:  # bug
            self.owners[key] = name  # bug
            return name
        return self.owners.get(key)

    def drop(self, key):
        self.owners.pop(key, None)  # bug


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
