# expect: Poll.close
# within: chair

"""The mark is set, and looked at again, and then the result is stored with the lock taken once more."""

import threading


class Poll:
    def __init__(self):
        self.lock = threading.Lock()
        self.is_counting = False
        self.result = None

    def reopen(self):
        with self.lock:
            self.is_counting = False  # bug
            self.result = None  # bug

    def close(self):
        with self.lock:
            self.is_counting = True
        with self.lock:
            is_ours = self.is_counting  # bug
        if is_ours:
            with self.lock:
                self.result = "yes"  # bug

    def is_odd(self):
        with self.lock:
            return self.result is not None and not self.is_counting


poll = Poll()
odd = []


def chair():
    for _ in range(80):
        poll.close()


def member():
    for _ in range(80):
        poll.reopen()
        odd.append(poll.is_odd())


threads = [threading.Thread(target=chair), threading.Thread(target=member)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print("broken: an open poll has a result" if any(odd) else "open polls have no result")
