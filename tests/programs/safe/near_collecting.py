"""A loop asks each server for its load under the lock that also gives the job."""

import threading


class Cluster:
    def __init__(self, servers):
        self.lock = threading.RLock()
        self.jobs = [0] * servers

    def load(self, server):
        with self.lock:
            return self.jobs[server]

    def start(self, server, load):
        with self.lock:
            self.jobs[server] = load

    def place(self):
        with self.lock:
            loads = []
            for server in range(len(self.jobs)):
                loads.append(self.load(server))
            least = min(loads)
            self.start(loads.index(least), least + 1)


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
