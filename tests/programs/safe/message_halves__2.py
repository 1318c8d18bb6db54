"""A measurement is two lines of one protocol, added at once."""

import threading
from concurrent.futures import ThreadPoolExecutor

lines = []
writing = threading.Lock()


def note(*pair):
    with writing:
        lines.extend(pair)


def report(station, celsius):
    note(f"{station} degrees", f"{station} {celsius}")


def probe(station):
    for celsius in range(50):
        report(station, celsius)


with ThreadPoolExecutor(max_workers=3) as pool:
    list(pool.map(probe, ("north", "south", "west")))
torn = 0
for at in range(0, len(lines), 2):
    torn += lines[at].split()[0] != lines[at + 1].split()[0]
if torn:
    print("broken:", torn, "values stand below a unit of another station")
print(len(lines), "lines")
