"""Looking at the tokens and taking one are one critical section."""

import threading


class Limiter:
    def __init__(self, tokens):
        self.tokens = tokens
        self.most = tokens
        self.lock = threading.Lock()

    def allow(self):
        with self.lock:
            if self.tokens > 0:
                self.tokens -= 1
                return True
            return False

    def refill(self):
        with self.lock:
            self.tokens = min(self.most, self.tokens + 1)


limiter = Limiter(5)


def worker():
    for _ in range(100):
        limiter.allow()


def refilling():
    for _ in range(150):
        limiter.refill()


threads = [threading.Thread(target=worker), threading.Thread(target=worker), threading.Thread(target=refilling)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(limiter.tokens <= 5)
