# expect: Queue.longest
# within: looking

"""Elements leave a list while it is gone through: the next one is skipped."""

import threading


class Queue:
    def __init__(self):
        self.names = ["ann", "robert", "cid", "dora"]

    def longest(self):
        longest = ""
        for name in self.names:  # bug
            if len(name) > len(longest):
                longest = name
        return longest

    def rotate(self):
        self.names.append(self.names.pop(0))  # bug


queue = Queue()


def looking():
    for _ in range(60):
        queue.longest()


def rotating():
    for _ in range(120):
        queue.rotate()


threads = [threading.Thread(target=looking), threading.Thread(target=rotating)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(queue.longest())
