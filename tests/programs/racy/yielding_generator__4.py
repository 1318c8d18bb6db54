# expect: counted
# within: guard

"""A generator that a guard steps by `next` reads how many are inside, and writes one more when it goes on."""

import threading

inside = {"people": 0}
door = threading.Lock()


def counted(times):
    for _ in range(times):
        with door:
            people = inside["people"]  # bug
        yield "come in"
        with door:
            inside["people"] = people + 1  # bug


def guard():
    visitors = counted(60)
    said = []
    while True:
        word = next(visitors, None)
        if word is None:
            break
        said.append(word.upper())


threads = [threading.Thread(target=guard) for _ in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print("inside" if inside["people"] == 180 else "broken: inside", inside["people"], "of 180")
