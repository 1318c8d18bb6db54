# expect: Desk.serve
# within: worker

"""A semaphore of two permits is no lock."""

import threading


class Desk:
    def __init__(self):
        self.permits = threading.Semaphore(2)
        self.served = 0

    def serve(self):
        with self.permits:
            self.served += 1  # bug


desk = Desk()


def worker():
    for _ in range(100):
        desk.serve()


threads = [threading.Thread(target=worker) for _ in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(desk.served)
