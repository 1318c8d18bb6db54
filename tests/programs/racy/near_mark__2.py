# expect: Upload.run
# within: sender

"""The mark is looked at again, but by another question: whether there is one, not whether it is one's own."""

import threading
import time


class Upload:
    def __init__(self):
        self.lock = threading.Lock()
        self.owner = None
        self.finished = []

    def run(self, me):
        with self.lock:
            self.owner = me  # bug
        time.sleep(0)
        with self.lock:
            if self.owner is not None:  # bug
                self.finished.append((me, self.owner))  # bug


upload = Upload()


def sender(me):
    for _ in range(60):
        upload.run(me)


threads = [threading.Thread(target=sender, args=(name,)) for name in ("ann", "bob")]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
stolen = [pair for pair in upload.finished if pair[0] != pair[1]]
print(f"broken: {len(stolen)} uploads were finished by another" if stolen else "each finished their own")
