"""What is in the larder is weighed when it is stored, after another look."""

import threading
import time


class Larder:
    def __init__(self):
        self.lock = threading.Lock()
        self.jars = {}
        self.weight = 0

    def get(self, fruit):
        if fruit in self.jars:
            with self.lock:
                return self.jars[fruit]
        jam = fruit * 3
        time.sleep(0)
        with self.lock:
            if fruit not in self.jars:
                self.weight += len(jam)
                self.jars[fruit] = jam
            return self.jars[fruit]


larder = Larder()


def cook():
    for number in range(60):
        larder.get(f"plum {number}")


threads = [threading.Thread(target=cook) for _ in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
stored = sum(map(len, larder.jars.values()))
print("weighed" if larder.weight == stored else f"broken: {larder.weight} weighed, {stored} stored")
