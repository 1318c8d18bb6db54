"""Front and back are exchanged in one step."""

import threading


class Buffers:
    def __init__(self):
        self.front = "a"
        self.back = "b"
        self.lock = threading.Lock()

    def flip(self):
        with self.lock:
            self.front, self.back = self.back, self.front


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
