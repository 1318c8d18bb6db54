"""The list is gone through under the lock under which it changes."""

import threading


class Queue:
    def __init__(self):
        self.names = ["ann", "robert", "cid", "dora"]
        self.lock = threading.Lock()

    def longest(self):
        with self.lock:
            longest = ""
            for name in self.names:
                if len(name) > len(longest):
                    longest = name
            return longest

    def rotate(self):
        with self.lock:
            self.names.append(self.names.pop(0))


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
