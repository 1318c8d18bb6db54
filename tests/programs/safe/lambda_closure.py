"""A number is drawn under a lock."""

import threading


def give_numbers():
    last = 0
    lock = threading.Lock()

    def put(number):
        nonlocal last
        last = number

    look = lambda: last  # noqa: E731

    def draw():
        with lock:
            number = look()
            put(number + 1)
        return number

    return draw, look


def taker(draw):
    for _ in range(60):
        draw()


draw, look = give_numbers()
threads = [threading.Thread(target=taker, args=(draw,)) for _ in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print("broken: drawn twice" if look() != 180 else "drawn")
