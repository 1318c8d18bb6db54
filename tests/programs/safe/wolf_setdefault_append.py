"""setdefault makes the list in one step, and appending to it is another that commutes with itself."""

import threading


class Groups:
    def __init__(self):
        self.members = {}

    def add(self, group, name):
        self.members.setdefault(group, []).append(name)


groups = Groups()


def worker(name):
    for i in range(100):
        groups.add(i // 5, name)


threads = [threading.Thread(target=worker, args=(given,)) for given in ("ann", "bob", "cid")]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(sum(len(names) for names in groups.members.values()))
