"""Items read and written by functions of the operator module, under a lock."""

import operator
import threading

votes = {"yes": 0, "no": 0}
lock = threading.Lock()


def bump(key):
    with lock:
        count = operator.getitem(votes, key)
        operator.setitem(votes, key, count + 1)


def worker():
    for i in range(120):
        bump("no" if i % 3 else "yes")


threads = [threading.Thread(target=worker) for _ in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(votes)
