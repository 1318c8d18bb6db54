# expect: worker

"""A bare += in the loop of a thread's own function."""

import threading

counter = 0


def worker():
    global counter
    for _ in range(150):
        counter += 1  # bug


threads = [threading.Thread(target=worker) for _ in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(counter)
