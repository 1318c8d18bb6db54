# expect: Server.handle
# within: run

"""A server whose requests a library hands out: one is counted with the lock taken twice."""

import sched
import threading


class Server:
    def __init__(self):
        self.lock = threading.Lock()
        self.served = 0
        self.open = 0

    def serve(self, requests):
        with self.lock:
            self.open += 1
        requests.run()
        with self.lock:
            self.open -= 1

    def handle(self):
        with self.lock:
            served = self.served  # bug
        with self.lock:
            self.served = served + 1  # bug


server = Server()


def worker():
    requests = sched.scheduler()
    for _ in range(60):
        requests.enter(0, 0, server.handle)
    server.serve(requests)


def run():
    worker()
    worker()


threads = [threading.Thread(target=run) for _ in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(server.served, server.open)
