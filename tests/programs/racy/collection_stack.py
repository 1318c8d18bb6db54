# expect: take_some

"""Each method of the stack is locked, but it may be empty again when an item is popped."""

import threading


class Stack:
    def __init__(self, items):
        self.lock = threading.Lock()
        self.items = list(items)

    def is_empty(self):
        with self.lock:
            return not self.items  # bug

    def pop(self):
        with self.lock:
            return self.items.pop()  # bug


stack = Stack(range(80))
failed = []


def take_some():
    if not stack.is_empty():  # bug
        return stack.pop()  # bug
    return None


def work():
    for _ in range(60):
        try:
            take_some()
        except IndexError:
            failed.append(1)


threads = [threading.Thread(target=work) for _ in range(2)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(f"broken: {len(failed)} times empty" if failed else "taken")
