"""Writers put a changed copy in the place of the old one; readers take the reference once and need no lock."""

import threading


class Routes:
    def __init__(self):
        self.lock = threading.Lock()
        self.table = {"a": 1, "b": 2}

    def put(self, name, port):
        with self.lock:
            table = dict(self.table)
            table[name] = port
            self.table = table

    def ports(self):
        table = self.table
        total = 0
        for name in table:
            total += table[name]
        return total


routes = Routes()


def reader():
    for _ in range(60):
        routes.ports()


def writer(name):
    for port in range(60):
        routes.put(name, port)


threads = [
    threading.Thread(target=reader),
    threading.Thread(target=writer, args=("c",)),
    threading.Thread(target=writer, args=("d",)),
]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(routes.ports())
