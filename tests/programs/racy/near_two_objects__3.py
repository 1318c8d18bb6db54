# expect: begin
# within: worker

"""A task goes from one list to another, each of them locked: two workers both see it in the first."""

import threading


class Tasks:
    def __init__(self, tasks=()):
        self._tasks = list(tasks)
        self._lock = threading.Lock()

    def has(self, task):
        with self._lock:
            return task in self._tasks  # bug

    def add(self, task):
        with self._lock:
            self._tasks.append(task)

    def remove(self, task):
        with self._lock:
            if task in self._tasks:
                self._tasks.remove(task)  # bug
                return True
            return False

    def all(self):
        with self._lock:
            return list(self._tasks)


todo, doing = Tasks(range(60)), Tasks()


def begin(task):
    if todo.has(task):  # bug
        todo.remove(task)  # bug
        doing.add(task)


def worker():
    for task in range(60):
        begin(task)


threads = [threading.Thread(target=worker) for _ in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
begun = doing.all()
print("begun once" if len(begun) == len(set(begun)) == 60 else f"broken: {len(begun)} begun of 60")
