"""The += stands under a lock."""

import threading

counter = 0
lock = threading.Lock()


def worker():
    global counter
    for _ in range(150):
        with lock:
            counter += 1


threads = [threading.Thread(target=worker) for _ in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(counter)
