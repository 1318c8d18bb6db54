"""A car is put on the list, and later taken off by what it is."""

import threading
import time

cars = []
lock = threading.Lock()
towed = []


def park(car):
    with lock:
        cars.append(car)
    time.sleep(0)
    with lock:
        cars.remove(car)


def driver(name):
    for n in range(60):
        park((name, n))


threads = [threading.Thread(target=driver, args=(name,)) for name in ("ann", "bob", "cid")]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(f"broken: {len(towed)} other cars were towed" if towed else f"{len(cars)} cars left")
