# expect: Registry.register
# within: worker

"""A name is registered twice, and the order of the plugins has it twice."""

import threading


class Registry:
    def __init__(self):
        self.plugins = {}
        self.order = []

    def register(self, name, plugin):
        if name in self.plugins:  # bug
            return False
        self.plugins[name] = plugin  # bug
        self.order.append(name)  # bug
        return True

    def remove(self, name):
        self.plugins.pop(name, None)  # bug


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
