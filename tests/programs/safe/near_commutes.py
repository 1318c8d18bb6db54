"""Whether a tag was new is told by how long the set was before and after, under one lock."""

import threading


class Tags:
    def __init__(self):
        self.tags = set()
        self.lock = threading.Lock()

    def add(self, tag):
        with self.lock:
            before = len(self.tags)
            self.tags.add(tag)
            return len(self.tags) > before


tags = Tags()
new = []


def tagger():
    for n in range(80):
        if tags.add(f"tag {n}"):
            new.append(n)


threads = [threading.Thread(target=tagger) for _ in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print("new" if len(new) == len(tags.tags) else f"broken: {len(new)} were new, {len(tags.tags)} are there")
