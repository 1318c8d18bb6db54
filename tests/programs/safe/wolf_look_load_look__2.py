"""Connections by host: looked up with get, opened slowly, and entered by setdefault, which gives what is there."""

import threading
import time

connections = {}
lock = threading.Lock()


def dial(host):
    time.sleep(0)
    return [host]


def connection(host):
    with lock:
        known = connections.get(host)
    if known is not None:
        return known
    fresh = dial(host)
    with lock:
        return connections.setdefault(host, fresh)


def user(out):
    for n in range(60):
        out.append(connection(f"host{n}"))


got = [[] for _ in range(2)]
threads = [threading.Thread(target=user, args=(out,)) for out in got]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
same = all(one is other for one, other in zip(*got, strict=True))
print("the same connections" if same else "broken: a host has two connections")
