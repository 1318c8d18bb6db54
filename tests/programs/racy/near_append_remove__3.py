# expect: park
# within: driver

"""A car is put on the list, its place is looked up, and later the place is cleared, whoever stands there by then."""

import threading
import time

cars = []
lock = threading.Lock()
towed = []


def park(car):
    with lock:
        cars.append(car)
        place = cars.index(car)  # bug
    time.sleep(0)
    with lock:
        if place >= len(cars) or cars[place] != car:
            towed.append(car)
        del cars[place : place + 1]  # bug


def driver(name):
    for n in range(60):
        park((name, n))


threads = [threading.Thread(target=driver, args=(name,)) for name in ("ann", "bob", "cid")]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(f"broken: {len(towed)} other cars were towed" if towed else f"{len(cars)} cars left")
