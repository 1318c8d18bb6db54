# expect: LinkedList.add_last
# within: Builder.run

"""The end of the list is looked for without the lock: two nodes are put after the same one, and the first is lost."""

import threading


class Node:
    def __init__(self, value):
        self.value = value
        self.following = None


class LinkedList:
    def __init__(self):
        self.header = Node(None)
        self.lock = threading.Lock()

    def add_last(self, value):
        last = self.header
        while last.following is not None:  # bug
            last = last.following
        with self.lock:
            last.following = Node(value)  # bug

    def __len__(self):
        count = 0
        node = self.header.following
        while node is not None:
            count += 1
            node = node.following
        return count


class Builder(threading.Thread):
    """Adds a range of numbers to the list that all share."""

    def __init__(self, numbers, first, last):
        super().__init__()
        self.numbers = numbers
        self.first = first
        self.last = last

    def run(self):
        for value in range(self.first, self.last):
            self.numbers.add_last(value)


def main():
    numbers = LinkedList()
    builders = [Builder(numbers, first, first + 15) for first in (0, 15, 30)]
    for builder in builders:
        builder.start()
    for builder in builders:
        builder.join()
    print(f"{len(numbers)} of 45 numbers are in the list")


main()
