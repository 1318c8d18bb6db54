"""One thread after another changes what the one before left; starting and joining is the only order."""

import threading


class Sum:
    def __init__(self):
        self.value = 0
        self.parts = []

    def add(self, n):
        self.value += n
        self.parts.append(self.value)


def main():
    total = Sum()
    for n in range(20):
        thread = threading.Thread(target=total.add, args=(n,))
        thread.start()
        thread.join()
        total.value += 1
    print(total.value, len(total.parts))


main()
