# expect: Cluster.place
# within: client

"""A loop asks each server for its load, and the least loaded one is given the job, when it may be the most loaded."""

import threading


class Cluster:
    def __init__(self, servers):
        self.lock = threading.RLock()
        self.jobs = [0] * servers

    def load(self, server):
        with self.lock:
            return self.jobs[server]  # bug

    def start(self, server, load):
        with self.lock:
            self.jobs[server] = load  # bug

    def place(self):
        loads = []
        for server in range(len(self.jobs)):
            loads.append(self.load(server))  # bug
        least = min(loads)
        self.start(loads.index(least), least + 1)  # bug


cluster = Cluster(3)


def client():
    for _ in range(40):
        cluster.place()


threads = [threading.Thread(target=client) for _ in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print("placed" if sum(cluster.jobs) == 120 else "broken: placed", sum(cluster.jobs), "of 120")
