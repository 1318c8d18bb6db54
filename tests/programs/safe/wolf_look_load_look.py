"""A cache looks under the lock, loads without it, and looks again under it: the first one to insert is kept."""

import threading


class Thumbnails:
    def __init__(self):
        self.lock = threading.Lock()
        self.ready = {}

    def get(self, photo):
        with self.lock:
            if photo in self.ready:
                return self.ready[photo]
        made = self.shrink(photo)
        with self.lock:
            if photo in self.ready:
                return self.ready[photo]
            self.ready[photo] = made
            return made

    @staticmethod
    def shrink(photo):
        return object(), photo


thumbnails = Thumbnails()
given = [[] for _ in range(3)]


def viewer(seen):
    for photo in range(60):
        seen.append(thumbnails.get(photo))


threads = [threading.Thread(target=viewer, args=(seen,)) for seen in given]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print("one for all" if given[0] == given[1] == given[2] else "broken: two of one photo")
