"""Shortest paths from many starts over one shared graph of objects, with heaps and dicts, four threads."""

import heapq
import sys
import threading
from concurrent.futures import ThreadPoolExecutor


class Node:
    __slots__ = ("edges", "name")

    def __init__(self, name):
        self.name = name
        self.edges = []


class Statistics:
    def __init__(self):
        self.lock = threading.Lock()
        self.runs = 0
        self.farthest = 0

    def add(self, distance):
        with self.lock:
            self.runs += 1
            self.farthest = max(self.farthest, distance)


def build(count):
    nodes = [Node(i) for i in range(count)]
    state = 7
    for node in nodes:
        for _ in range(4):
            state = (state * 1103515245 + 12345) % 2147483648
            node.edges.append((nodes[(state >> 5) % count], state % 90 + 10))
    return nodes


def distances(start, statistics):
    known = {start.name: 0}
    heap = [(0, start.name, start)]
    while heap:
        distance, _, node = heapq.heappop(heap)
        if distance > known[node.name]:
            continue
        for other, cost in node.edges:
            length = distance + cost
            if length < known.get(other.name, 1 << 30):
                known[other.name] = length
                heapq.heappush(heap, (length, other.name, other))
    statistics.add(max(known.values()))
    return len(known)


def main(runs):
    nodes, statistics = build(1500), Statistics()
    with ThreadPoolExecutor(4) as pool:
        reached = list(pool.map(lambda i: distances(nodes[i * 17 % 1500], statistics), range(runs)))
    print(sum(reached), statistics.runs, statistics.farthest)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1_200)
