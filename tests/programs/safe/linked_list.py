"""Reading the head and replacing it are one critical section."""

import threading


class Node:
    def __init__(self, value, following):
        self.value = value
        self.following = following


class LinkedList:
    def __init__(self):
        self.head = None
        self.lock = threading.Lock()

    def push(self, value):
        with self.lock:
            node = Node(value, self.head)
            self.head = node


values = LinkedList()


def worker():
    for value in range(80):
        values.push(value)


def length(node):
    count = 0
    while node is not None:
        count += 1
        node = node.following
    return count


threads = [threading.Thread(target=worker) for _ in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(length(values.head))
