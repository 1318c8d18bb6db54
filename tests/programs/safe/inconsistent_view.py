"""Width and height change together."""

import threading


class Box:
    def __init__(self):
        self.lock = threading.Lock()
        self.width = 1
        self.height = 1

    def resize(self, size):
        with self.lock:
            self.width = size
            self.height = size

    def area(self):
        with self.lock:
            return self.width * self.height


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
