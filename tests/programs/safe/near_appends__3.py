"""The place of an event is taken from the length in the critical section that appends it."""

import threading

events = []
lock = threading.Lock()


def emit(kind):
    with lock:
        number = len(events)
        events.append((number, kind))
    return number


def source(kind):
    for _ in range(60):
        emit(kind)


threads = [threading.Thread(target=source, args=(kind,)) for kind in ("key", "mouse")]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
misplaced = [number for number, event in enumerate(events) if event[0] != number]
print("in place" if not misplaced else f"broken: {len(misplaced)} events are not where they say")
