"""The test and both entries are one critical section."""

import threading


class Registry:
    def __init__(self):
        self.plugins = {}
        self.order = []
        self.lock = threading.Lock()

    def register(self, name, plugin):
        with self.lock:
            if name in self.plugins:
                return False
            self.plugins[name] = plugin
            self.order.append(name)
            return True

    def remove(self, name):
        with self.lock:
            self.plugins.pop(name, None)


registry = Registry()


def worker():
    for i in range(150):
        name = "plugin" + str(i % 3)
        if i % 2:
            registry.remove(name)
        else:
            registry.register(name, i)


threads = [threading.Thread(target=worker) for _ in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(len(registry.plugins) <= 3)
