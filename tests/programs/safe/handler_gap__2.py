"""Routes are built and then put in the place of the old ones; a request always has a route."""

import threading


class Router:
    def __init__(self):
        self.lock = threading.Lock()
        self.find = self.build(0)

    def build(self, version):
        return lambda path: f"{path} by version {version}"

    def reload(self, version):
        self.find = self.build(version)

    def dispatch(self, path):
        find = self.find
        return find(path)


router = Router()
unserved = 0


def operator():
    for version in range(150):
        router.reload(version)


def client():
    global unserved
    for n in range(300):
        try:
            router.dispatch(f"/{n}")
        except TypeError:
            unserved += 1


threads = [threading.Thread(target=operator), threading.Thread(target=client)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(f"broken: {unserved} requests unserved" if unserved else "all served")
