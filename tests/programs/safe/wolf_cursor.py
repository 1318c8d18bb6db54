"""A reader with its own cursor over a log that only grows; what is not there yet comes the next time."""

import threading

log = []


def news(since):
    fresh = log[since:]
    return fresh, since + len(fresh)


def reader(out):
    at = 0
    for _ in range(80):
        fresh, at = news(at)
        out.extend(fresh)


def writer():
    for n in range(120):
        log.append(n)


read = []
threads = [threading.Thread(target=writer), threading.Thread(target=reader, args=(read,))]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print("in order" if read == list(range(len(read))) else "broken: entries are missing")
