"""The test and the removal are one critical section."""

import threading


class Stack:
    def __init__(self):
        self.items = list(range(5))
        self.lock = threading.Lock()

    def put(self, item):
        with self.lock:
            self.items.append(item)

    def take(self):
        with self.lock:
            if len(self.items) > 0:
                return self.items.pop()
            return None


stack = Stack()


def worker():
    for i in range(100):
        if i % 3:
            stack.take()
        else:
            stack.put(i)


threads = [threading.Thread(target=worker) for _ in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(len(stack.items))
