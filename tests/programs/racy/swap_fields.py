# expect: Buffers.flip
# within: drawing

"""Front and back are exchanged in two steps: for a moment both are the same."""

import threading


class Buffers:
    def __init__(self):
        self.front = "a"
        self.back = "b"

    def flip(self):
        self.front, self.back = self.back, self.front  # bug


buffers = Buffers()


def drawing():
    for _ in range(100):
        buffers.flip()


threads = [threading.Thread(target=drawing) for _ in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(buffers.front, buffers.back)
