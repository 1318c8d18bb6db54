"""Tasks are dictionaries; who finds one that waits puts a name into it."""

from threading import Lock, Thread

tasks = {f"task {i}": {"status": "waiting", "by": None} for i in range(60)}
claims = []
claiming = Lock()


def claim(task, name):
    with claiming:
        match task:
            case {"status": "done"} | {"status": "claimed"}:
                return False
            case {"status": "waiting", **others} if len(others) == 1:
                task["status"] = "claimed"
                task["by"] = name
                claims.append(name)
                return True
    return False


def work(name):
    for task in tasks.values():
        claim(task, name)


workers = [Thread(target=work, args=(name,)) for name in ("first", "second")]
for worker in workers:
    worker.start()
for worker in workers:
    worker.join()
print("broken: claimed twice" if len(claims) > len(tasks) else "claimed")
