# expect: give_numbers.<locals>.draw
# within: taker

"""Two lambdas share a variable of the function around them, and what one read the other one writes back."""

import threading


def give_numbers():
    last = 0

    def put(number):
        nonlocal last
        last = number  # bug

    look = lambda: last  # noqa: E731  # bug

    def draw():
        number = look()  # bug
        put(number + 1)  # bug
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
