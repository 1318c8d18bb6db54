# expect: visit

"""Two tasks find the same page not yet visited."""

import threading
from concurrent.futures import ThreadPoolExecutor


class Crawl:
    def __init__(self):
        self.visited = {}
        self.lock = threading.Lock()


crawl = Crawl()


def visit(page, number):
    if page not in crawl.visited:  # bug
        crawl.visited[page] = number  # bug
        return True
    return False


with ThreadPoolExecutor(max_workers=3) as pool:
    futures = [pool.submit(visit, i // 3, i) for i in range(240)]
    firsts = sum(future.result() for future in futures)
print(firsts)
