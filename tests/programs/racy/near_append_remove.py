# expect: Stack.task
# within: worker

"""Everybody puts a tool down and takes one up again: the last one, which may be another's."""

import threading
import time


class Stack:
    def __init__(self):
        self.tools = []
        self.mixed = 0

    def task(self, tool):
        self.tools.append(tool)  # bug
        time.sleep(0)
        if self.tools.pop() is not tool:  # bug
            self.mixed += 1


stack = Stack()


def worker(tool):
    for _ in range(60):
        stack.task(tool)


threads = [threading.Thread(target=worker, args=(tool,)) for tool in ("saw", "axe", "file")]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(f"broken: {stack.mixed} tools were swapped" if stack.mixed else "everybody has their own")
