# expect: install
# within: updater

"""A codec in a global: it is reset to None under the lock, and set again under the lock, in two blocks."""

import threading

codec = str.upper
lock = threading.Lock()
lost = []


def install(function):
    global codec
    with lock:
        codec = None  # bug
    with lock:
        codec = function  # bug


def encode(text):
    with lock:
        return codec(text)  # bug


def updater():
    for n in range(120):
        install(str.upper if n % 2 else str.title)


def writer():
    for n in range(90):
        try:
            encode(f"text {n}")
        except TypeError as error:
            lost.append(error)


threads = [threading.Thread(target=updater)] + [threading.Thread(target=writer) for _ in range(2)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
if lost:
    print("broken:", lost[0])
print("done")
