"""Two rounds of one loop inside the lock: the first round reads what the second one writes."""

import threading

page = {"version": 0}
lock = threading.Lock()


def touch():
    kept = {}
    with lock:
        for phase in ("read", "write"):
            if phase == "read":
                kept.update(page)
            else:
                page["version"] = kept["version"] + 1


def editor():
    for _ in range(60):
        touch()


threads = [threading.Thread(target=editor) for _ in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print("version" if page["version"] == 180 else "broken: version", page["version"])
