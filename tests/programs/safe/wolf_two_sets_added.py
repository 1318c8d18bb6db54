"""One method adds to a set twice, and to another: adding commutes with adding."""

import threading


class Graph:
    def __init__(self):
        self.nodes = set()
        self.edges = set()

    def connect(self, a, b):
        self.nodes.add(a)
        self.nodes.add(b)
        self.edges.add((a, b))


graph = Graph()


def worker():
    for i in range(60):
        graph.connect(i, i + 1)


threads = [threading.Thread(target=worker) for _ in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(len(graph.nodes), len(graph.edges))
