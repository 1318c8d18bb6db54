# expect: next_match
# within: umpire

"""Players wait in a queue, each next to the one they want to play. Two umpires take them out one by one."""

import queue
import threading

waiting = queue.Queue()
for number in range(120):
    waiting.put((number, "white"))
    waiting.put((number, "black"))
mixed = []


def next_match():
    white = waiting.get()  # bug
    black = waiting.get()  # bug
    return white, black


def umpire():
    for _ in range(60):
        white, black = next_match()
        if white[0] != black[0]:
            mixed.append((white, black))


threads = [threading.Thread(target=umpire) for _ in range(2)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print("broken: strangers play each other" if mixed else "all play whom they want to")
