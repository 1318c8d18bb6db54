"""Objects made in a pool and changed by whoever has their future's result."""

from concurrent.futures import ThreadPoolExecutor


class Page:
    def __init__(self, number):
        self.number = number
        self.words = []


def render(number):
    page = Page(number)
    for i in range(5):
        page.words.append(i)
    page.number += 1
    return page


def main():
    with ThreadPoolExecutor(max_workers=3) as pool:
        futures = [pool.submit(render, n) for n in range(60)]
        pages = [future.result() for future in futures]
        for page in pages:
            page.number += len(page.words)
    print(sum(page.number for page in pages))


main()
