"""Visits are counted in the main module, by the name that others import it by."""

import threading

import __main__ as site

hits = 0
counting = threading.Lock()


def visit():
    with counting:
        site.hits += 1


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
