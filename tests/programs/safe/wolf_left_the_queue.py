"""Who is not in the queue any more need not leave it: looked at first, and left in a way that may find nothing."""

import threading
import time


class Queue:
    def __init__(self):
        self.lock = threading.Lock()
        self.waiting = ["anna", "ben"]
        self.served = {"anna": False}

    def leave(self, who):
        if who not in self.waiting:
            return
        time.sleep(0)
        with self.lock:
            try:
                self.waiting.remove(who)
            except ValueError:
                return

    def forget(self, who):
        if who in self.served:
            with self.lock:
                self.served.pop(who, None)


queues = [Queue() for _ in range(60)]


def guard():
    for queue in queues:
        queue.leave("anna")
        queue.forget("anna")


threads = [threading.Thread(target=guard) for _ in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
are_right = all(queue.waiting == ["ben"] and not queue.served for queue in queues)
print("only ben waits" if are_right else "broken: somebody else waits")
