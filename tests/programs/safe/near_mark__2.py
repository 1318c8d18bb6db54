"""The mark stays one's own until the upload is finished."""

import threading
import time


class Upload:
    def __init__(self):
        self.lock = threading.Lock()
        self.owner = None
        self.finished = []

    def run(self, me):
        with self.lock:
            self.owner = me
            time.sleep(0)
            if self.owner is not None:
                self.finished.append((me, self.owner))


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
