"""Compiled templates with counters of their own lock beside them."""

import threading


class Count:
    def __init__(self):
        self.lock = threading.Lock()
        self.value = 0

    def up(self):
        with self.lock:
            self.value = self.value + 1


class Templates:
    def __init__(self):
        self.lock = threading.Lock()
        self.compiled = {}
        self.found, self.made = Count(), Count()

    def load(self, name):
        with self.lock:
            template = self.compiled.get(name)
        if template:
            self.found.up()
            return template
        template = f"<{name}>"
        self.made.up()
        with self.lock:
            other = self.compiled.get(name)
            if other:
                return other
            self.compiled[name] = template
        return template


templates = Templates()


def page():
    for n in range(80):
        templates.load(f"template {n % 40}")


threads = [threading.Thread(target=page) for _ in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
total = templates.found.value + templates.made.value
print("loads" if total == 240 and len(templates.compiled) == 40 else "broken: loads", total)
