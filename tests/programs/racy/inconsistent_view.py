# expect: Box.resize
# within: resizer

"""Width and height are each locked; between them the box has a size that nobody gave it."""

import threading


class Box:
    def __init__(self):
        self.lock = threading.Lock()
        self.width = 1
        self.height = 1

    def resize(self, size):
        with self.lock:
            self.width = size  # bug
        with self.lock:
            self.height = size  # bug

    def area(self):
        with self.lock:
            return self.width * self.height  # bug


box = Box()


def resizer():
    for size in range(150):
        box.resize(size)


def viewer():
    for _ in range(150):
        box.area()


threads = [threading.Thread(target=resizer), threading.Thread(target=viewer), threading.Thread(target=viewer)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(box.area())
