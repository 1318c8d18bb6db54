"""The test and the entry are one critical section."""

import threading
from concurrent.futures import ThreadPoolExecutor


class Crawl:
    def __init__(self):
        self.visited = {}
        self.lock = threading.Lock()


crawl = Crawl()


def visit(page, number):
    with crawl.lock:
        if page not in crawl.visited:
            crawl.visited[page] = number
            return True
        return False


with ThreadPoolExecutor(max_workers=3) as pool:
    futures = [pool.submit(visit, i // 3, i) for i in range(240)]
    firsts = sum(future.result() for future in futures)
print(firsts)
