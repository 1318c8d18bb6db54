# expect: visit
# within: visiting

"""Visits are counted in the main module, by the name that others import it by."""

import threading

import __main__ as site

hits = 0


def visit():
    site.hits += 1  # bug


def visiting():
    for _ in range(50):
        visit()


threads = [threading.Thread(target=visiting) for _ in range(2)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
if site.hits != 100:
    print("broken: visits are missing")
print("counted")
