# expect: join
# within: guest

"""Everybody has a key of their own in the dict, but the number that is stored is how many there were before."""

import threading

numbers = {}
door = threading.Lock()


def join(name):
    with door:
        position = len(numbers)  # bug
    with door:
        numbers[name] = position  # bug


def guest(family):
    for n in range(50):
        join((family, n))


threads = [threading.Thread(target=guest, args=(family,)) for family in ("smith", "jones", "brown")]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print("numbered" if len(set(numbers.values())) == 150 else "broken: two guests have one number")
