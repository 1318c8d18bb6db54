"""A server goes through phases that it alone sets; others compare."""

import threading


class Server:
    def __init__(self):
        self.phase = "new"
        self.loads = 0

    def start(self):
        self.phase = "loading"
        self.loads += 1
        self.phase = "ready"

    def stop(self):
        self.phase = "stopping"
        self.phase = "stopped"


server = Server()
seen = {"yes": 0, "no": 0}


def owner():
    for _ in range(40):
        server.start()
        server.stop()


def watcher():
    for _ in range(80):
        seen["yes" if server.phase == "ready" else "no"] += 1


threads = [threading.Thread(target=owner), threading.Thread(target=watcher)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print("seen" if sum(seen.values()) == 80 else "broken:", seen)
