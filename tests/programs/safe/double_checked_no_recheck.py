"""The check is made under the lock."""

import threading


class Connection:
    pass


class Service:
    def __init__(self):
        self.lock = threading.Lock()
        self.open = None

    def connection(self):
        with self.lock:
            if self.open is None:
                self.open = Connection()
            return self.open

    def close(self):
        with self.lock:
            self.open = None


service = Service()


def worker():
    for i in range(200):
        if i % 4 == 3:
            service.close()
        else:
            service.connection()


threads = [threading.Thread(target=worker) for _ in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(service.connection() is service.connection())
