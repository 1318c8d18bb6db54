# expect: report
# within: probe
# level: suspect

"""A measurement is two lines of one protocol: its unit, then its value. Each line is locked, the pair is not."""

import threading
from concurrent.futures import ThreadPoolExecutor

lines = []
writing = threading.Lock()


def note(line):
    with writing:
        lines.append(line)  # bug


def report(station, celsius):
    note(f"{station} degrees")  # bug
    note(f"{station} {celsius}")  # bug


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
