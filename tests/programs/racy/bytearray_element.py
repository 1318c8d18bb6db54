# expect: Image.brighten
# within: worker

"""A byte of a bytearray is read, changed and written back."""

import threading


class Image:
    def __init__(self):
        self.pixels = bytearray(8)

    def brighten(self, i):
        pixel = self.pixels[i]  # bug
        self.pixels[i] = min(255, pixel + 1)  # bug


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
