"""A dict of counts is swapped for an empty one under the lock; whoever swapped writes it to the list of reports."""

import threading
from collections import Counter

guard = threading.Lock()
counts = Counter()
reports = []


def count(word):
    with guard:
        counts[word] += 1


def flush():
    global counts
    with guard:
        taken = counts
        counts = Counter()
    if taken:
        reports.append(dict(taken))


def speaker(words):
    for number, word in enumerate(words * 20):
        count(word)
        if number % 7 == 6:
            flush()


threads = [threading.Thread(target=speaker, args=(words,)) for words in (["a", "b"], ["b", "c"])]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
flush()
spoken = sum(sum(report.values()) for report in reports)
print("spoken" if spoken == 80 else "broken: spoken", spoken)
