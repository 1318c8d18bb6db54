"""A plugin starts once: an early exit if it runs, and the same question again under the lock."""

import threading

running = set()
starts = []
lock = threading.Lock()


def ensure(plugin):
    if plugin in running:
        return
    lock.acquire()
    try:
        if plugin in running:
            return
        starts.append(plugin)
        running.add(plugin)
    finally:
        lock.release()


def caller():
    for n in range(90):
        ensure(n // 2)


threads = [threading.Thread(target=caller) for _ in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print("started once" if len(starts) == len(running) == 45 else "broken: started twice")
