# expect: Buffer.offer
# within: producer

"""Two producers both find room for one more."""

import threading


class Buffer:
    def __init__(self, size):
        self.size = size
        self.items = []

    def offer(self, item):
        if len(self.items) < self.size:  # bug
            self.items.append(item)  # bug
            return True
        return False

    def poll(self):
        if self.items:  # bug
            return self.items.pop(0)  # bug
        return None


buffer = Buffer(2)


def producer():
    for i in range(150):
        buffer.offer(i)


def consumer():
    for _ in range(150):
        buffer.poll()


threads = [threading.Thread(target=producer), threading.Thread(target=producer), threading.Thread(target=consumer)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(len(buffer.items) <= 3)
