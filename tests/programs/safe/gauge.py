"""How many are at work: one more at the start, one less at the end, each under the lock; the order does not matter."""

import threading
import time


class Server:
    def __init__(self):
        self.lock = threading.Lock()
        self.active = 0

    def handle(self):
        with self.lock:
            self.active += 1
        time.sleep(0)
        with self.lock:
            self.active -= 1


def client(server):
    for _ in range(40):
        server.handle()


server = Server()
threads = [threading.Thread(target=client, args=(server,)) for _ in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(server.active)
