"""A bell's handler is replaced in one step."""

import threading


class Bell:
    def __init__(self, handler):
        self.handler = handler

    def change(self, handler):
        self.handler = handler

    def press(self):
        return self.handler()


def ding():
    return "ding"


def dong():
    return "dong"


bell = Bell(ding)
failures = []


def mechanic():
    for n in range(80):
        bell.change(dong if n % 2 else ding)


def visitor():
    for _ in range(80):
        try:
            bell.press()
        except TypeError:
            failures.append("silence")


threads = [threading.Thread(target=work) for work in (mechanic, visitor, visitor)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(f"broken: {len(failures)} presses of {160}" if failures else "always heard")
