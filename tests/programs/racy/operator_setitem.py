# expect: bump
# within: worker

"""Items read and written by functions of the operator module."""

import operator
import threading

votes = {"yes": 0, "no": 0}


def bump(key):
    count = operator.getitem(votes, key)  # bug
    operator.setitem(votes, key, count + 1)  # bug


def worker():
    for i in range(120):
        bump("no" if i % 3 else "yes")


threads = [threading.Thread(target=worker) for _ in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(votes)
