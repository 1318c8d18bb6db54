# expect: Service.connection
# within: worker

"""Double-checked locking without the second check: the lock does not help."""

import threading


class Connection:
    pass


class Service:
    def __init__(self):
        self.lock = threading.Lock()
        self.open = None

    def connection(self):
        if self.open is None:  # bug
            with self.lock:
                self.open = Connection()  # bug
        return self.open

    def close(self):
        with self.lock:
            self.open = None  # bug


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
