"""Built by one thread without a lock, and used by others after an Event says that it is there."""

import threading


class Model:
    def __init__(self):
        self.loaded = threading.Event()
        self.weights = []
        self.bias = 0

    def load(self):
        for i in range(20):
            self.weights.append(i)
        self.bias = 1
        self.loaded.set()

    def apply(self, x):
        self.loaded.wait()
        total = self.bias
        for weight in self.weights:
            total += weight * x
        return total


model = Model()


def loader():
    model.load()


def user():
    for x in range(10):
        model.apply(x)


threads = [threading.Thread(target=user), threading.Thread(target=user), threading.Thread(target=loader)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(model.apply(1))
