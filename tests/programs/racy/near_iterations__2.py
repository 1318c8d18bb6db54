# expect: touch
# within: editor

"""Two rounds of one loop, each with the lock: the first round reads what the second one writes."""

import threading

page = {"version": 0}
lock = threading.Lock()


def touch():
    kept = {}
    for phase in ("read", "write"):
        with lock:
            if phase == "read":
                kept.update(page)  # bug
            else:
                page["version"] = kept["version"] + 1  # bug


def editor():
    for _ in range(60):
        touch()


threads = [threading.Thread(target=editor) for _ in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print("version" if page["version"] == 180 else "broken: version", page["version"])
