# expect: claim
# within: work

"""Tasks are dictionaries; who finds one that waits puts a name into it."""

from threading import Thread

tasks = {f"task {i}": {"status": "waiting", "by": None} for i in range(60)}
claims = []


def claim(task, name):
    match task:
        case {"status": "done"} | {"status": "claimed"}:  # bug
            return False
        case {"status": "waiting", **others} if len(others) == 1:  # bug
            task["status"] = "claimed"  # bug
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
