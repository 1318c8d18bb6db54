"""A locked LRU cache in front of a slow function, used by four threads."""

import sys
import threading
from collections import OrderedDict


def slow(number):
    total = 0
    for i in range(number % 60 + 20):
        total += i * i % 7
    return total


class Cache:
    def __init__(self, size):
        self.size = size
        self.items = OrderedDict()
        self.hits = 0
        self.misses = 0
        self.lock = threading.Lock()

    def get(self, key):
        with self.lock:
            if key in self.items:
                self.items.move_to_end(key)
                self.hits += 1
                return self.items[key]
            self.misses += 1
        value = slow(key)
        with self.lock:
            self.items[key] = value
            if len(self.items) > self.size:
                self.items.popitem(last=False)
        return value


def work(cache, seed, rounds):
    state, total = seed, 0
    for _ in range(rounds):
        # what a request takes beside the cache
        for _ in range(25):
            state = (state * 1103515245 + 12345) % 2147483648
        total += cache.get((state >> 8) % 700)
    return total


def main(rounds):
    cache = Cache(500)
    threads = [threading.Thread(target=work, args=(cache, seed, rounds)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(cache.hits + cache.misses)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 60_000)
