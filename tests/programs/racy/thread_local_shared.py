# expect: worker

"""threading.local does not make an object one's own that all threads put into it."""

import threading


class Buffer:
    def __init__(self):
        self.size = 0


buffer = Buffer()
local = threading.local()


def worker():
    local.buffer = buffer
    for n in range(120):
        local.buffer.size += n  # bug


threads = [threading.Thread(target=worker) for _ in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(buffer.size)
