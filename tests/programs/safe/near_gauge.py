"""Who is first in a hall turns on the light, and who is last turns it off; both are known in the hold that counts."""

import threading
import time


class Hall:
    def __init__(self):
        self.lock = threading.Lock()
        self.inside, self.light, self.dark = 0, False, 0

    def look(self):
        with self.lock:
            self.dark += not self.light

    def visit(self):
        with self.lock:
            self.inside += 1
            if self.inside == 1:
                self.light = True
        self.look()
        with self.lock:
            self.inside -= 1
            if self.inside == 0:
                self.light = False


hall = Hall()


def visitor():
    for _ in range(40):
        hall.visit()
        time.sleep(0)


threads = [threading.Thread(target=visitor) for _ in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(f"broken: in the dark {hall.dark} times" if hall.dark else "always in the light")
