"""Routes are looked up, computed and entered unless another one did; misses are counted where they are entered."""

import threading
from concurrent.futures import ThreadPoolExecutor

lock = threading.Lock()
routes = {}
statistics = {"hit": 0, "entered": 0, "too late": 0}


def count(kind):
    with lock:
        statistics[kind] += 1


def route(start, end):
    key = start, end
    with lock:
        path = routes.get(key)
    if path is not None:
        count("hit")
        return path
    path = [*range(start, end)]
    with lock:
        if key in routes:
            statistics["too late"] += 1
            return routes[key]
        routes[key] = path
        statistics["entered"] += 1
    return path


def driver(_):
    return [route(n % 20, n % 20 + 5) for n in range(60)]


with ThreadPoolExecutor(3) as pool:
    driven = list(pool.map(driver, range(3)))
ok = sum(statistics.values()) == 180 and statistics["entered"] == len(routes)
print("counted" if ok else "broken:", statistics)
