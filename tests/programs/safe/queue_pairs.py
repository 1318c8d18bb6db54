"""Those who want to play each other wait in a queue together."""

import queue
import threading

waiting = queue.Queue()
for number in range(120):
    waiting.put(((number, "white"), (number, "black")))
mixed = []


def next_match():
    white, black = waiting.get()
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
