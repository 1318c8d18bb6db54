# expect: Server.handle
# within: client

"""How many are at work: one more at the start, one less at the end, and both can be lost."""

import threading
import time


class Server:
    def __init__(self):
        self.active = 0

    def handle(self):
        self.active += 1  # bug
        time.sleep(0)
        self.active -= 1  # bug


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
