# expect: Limiter.allow
# within: worker

"""Two requests are let through on one token."""

import threading


class Limiter:
    def __init__(self, tokens):
        self.tokens = tokens
        self.most = tokens

    def allow(self):
        if self.tokens > 0:  # bug
            self.tokens -= 1  # bug
            return True
        return False

    def refill(self):
        self.tokens = min(self.most, self.tokens + 1)  # bug


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
