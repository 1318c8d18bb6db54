"""Looking and loading are one step, under a lock."""

import threading
import weakref


class Icon:
    def __init__(self, name):
        self.name = name


class Icons:
    def __init__(self):
        self.lock = threading.Lock()
        self.known = weakref.WeakValueDictionary()

    def icon(self, name):
        with self.lock:
            found = self.known.get(name)
            if found is None:
                found = Icon(name)
                self.known[name] = found
        return found


def painter(icons, painted):
    for number in range(50):
        painted.append(icons.icon(f"icon {number}"))


icons = Icons()
painted = [[] for _ in range(3)]
threads = [threading.Thread(target=painter, args=(icons, own)) for own in painted]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
same = all(one is other for one, other in zip(painted[0], painted[1], strict=True))
print("loaded" if same else "broken: loaded twice")
