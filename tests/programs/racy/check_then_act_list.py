# expect: Stack.take
# within: worker

"""The list can be empty by the time its last element is taken."""

import threading


class Stack:
    def __init__(self):
        self.items = list(range(5))

    def put(self, item):
        self.items.append(item)  # bug

    def take(self):
        if len(self.items) > 0:  # bug
            try:
                return self.items.pop()  # bug
            except IndexError:
                return None
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
