"""A function works until it is told to stop: it polls a flag in its loop, as often as it likes."""

import threading
import time


class Crawler:
    def __init__(self):
        self.should_stop = False
        self.pages = []

    def crawl(self):
        page = 0
        while not self.should_stop and page < 200:
            page += 1
            if self.should_stop:
                break
            self.pages.append(page)
        return page


crawler = Crawler()


def worker():
    crawler.crawl()


def boss():
    time.sleep(0)
    crawler.should_stop = True


threads = [threading.Thread(target=worker), threading.Thread(target=boss)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print("pages" if crawler.pages == sorted(set(crawler.pages)) else "broken: pages")
