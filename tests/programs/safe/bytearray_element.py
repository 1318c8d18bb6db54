"""A byte of a bytearray is changed under a lock."""

import threading


class Image:
    def __init__(self):
        self.pixels = bytearray(8)
        self.lock = threading.Lock()

    def brighten(self, i):
        with self.lock:
            pixel = self.pixels[i]
            self.pixels[i] = min(255, pixel + 1)


image = Image()


def worker():
    for i in range(150):
        image.brighten(i % 3)


threads = [threading.Thread(target=worker) for _ in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(sum(image.pixels))
