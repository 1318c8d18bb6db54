"""Who needs the lamp has it alone."""

import threading
import time


class Lamp:
    def __init__(self):
        self.lock = threading.Lock()
        self.is_on = False
        self.dark = 0

    def use(self):
        with self.lock:
            self.is_on = True
            time.sleep(0)
            if not self.is_on:
                self.dark += 1
            self.is_on = False


lamp = Lamp()


def worker():
    for _ in range(60):
        lamp.use()


threads = [threading.Thread(target=worker) for _ in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(f"broken: {lamp.dark} times in the dark" if lamp.dark else "never in the dark")
