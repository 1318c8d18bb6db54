"""Each thread puts an object of its own into threading.local."""

import threading


class Buffer:
    def __init__(self):
        self.size = 0


local = threading.local()


def worker():
    local.buffer = Buffer()
    for n in range(120):
        local.buffer.size += n


threads = [threading.Thread(target=worker) for _ in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(hasattr(local, "buffer"))
