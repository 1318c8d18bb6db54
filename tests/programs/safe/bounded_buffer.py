"""The look at the length and the change are one critical section."""

import threading


class Buffer:
    def __init__(self, size):
        self.size = size
        self.items = []
        self.lock = threading.Lock()

    def offer(self, item):
        with self.lock:
            if len(self.items) < self.size:
                self.items.append(item)
                return True
            return False

    def poll(self):
        with self.lock:
            if self.items:
                return self.items.pop(0)
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
