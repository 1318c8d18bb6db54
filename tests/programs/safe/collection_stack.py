"""The stack looks and pops in one locked method."""

import threading


class Stack:
    def __init__(self, items):
        self.lock = threading.Lock()
        self.items = list(items)

    def pop_if_any(self):
        with self.lock:
            return self.items.pop() if self.items else None


stack = Stack(range(80))
failed = []


def take_some():
    return stack.pop_if_any()


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
