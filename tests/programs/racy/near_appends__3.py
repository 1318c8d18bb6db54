# expect: emit
# within: source

"""The place of an event is taken from the length before it is appended, in two critical sections."""

import threading

events = []
lock = threading.Lock()


def place():
    with lock:
        return len(events)  # bug


def emit(kind):
    number = place()  # bug
    with lock:
        events.append((number, kind))  # bug
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
