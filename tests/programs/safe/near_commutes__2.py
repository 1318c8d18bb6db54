"""Everybody has a key of their own in the dict; how many there were is stored in the same critical section."""

import threading

numbers = {}
door = threading.Lock()


def join(name):
    with door:
        numbers[name] = len(numbers)


def guest(family):
    for n in range(50):
        join((family, n))


threads = [threading.Thread(target=guest, args=(family,)) for family in ("smith", "jones", "brown")]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print("numbered" if len(set(numbers.values())) == 150 else "broken: two guests have one number")
