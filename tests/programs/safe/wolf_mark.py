"""A page is marked while it is drawn; if it was touched meanwhile, what was drawn is thrown away."""

import threading
import time


class Page:
    def __init__(self):
        self.lock = threading.Lock()
        self.text = "0"
        self.drawn = None
        self.state = "touched"

    def touch(self, text):
        with self.lock:
            self.text = text
            self.state = "touched"
            self.drawn = None

    def draw(self):
        with self.lock:
            self.state = "drawing"
            text = self.text
        time.sleep(0)
        with self.lock:
            if self.state == "drawing":
                self.drawn = f"[{text}]"
                self.state = "drawn"


page = Page()


def painter():
    for _ in range(60):
        page.draw()


def writer():
    for n in range(60):
        page.touch(str(n))


threads = [threading.Thread(target=painter), threading.Thread(target=writer)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print("fresh" if page.drawn in (None, f"[{page.text}]") else "broken: an old page")
