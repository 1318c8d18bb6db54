"""What could not be sent replaces the outbox, which stays locked while something is sent."""

import threading


class Retrier:
    def __init__(self):
        self.guard = threading.RLock()
        self.outbox = ()
        self.sent = 0

    def post(self, message):
        with self.guard:
            self.outbox = (*self.outbox, message)

    def _take(self):
        with self.guard:
            messages = self.outbox
            self.outbox = ()
        return messages

    def _give(self, messages):
        with self.guard:
            self.outbox = messages

    def flush(self):
        with self.guard:
            messages = self._take()
            if messages:
                self.sent += 1
            self._give(messages[1:])

    def loop(self):
        for _ in range(60):
            self.flush()


retrier = Retrier()


def poster():
    for n in range(40):
        retrier.post(n)


threads = [threading.Thread(target=retrier.loop), threading.Thread(target=poster), threading.Thread(target=poster)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
missing = 80 - retrier.sent - len(retrier.outbox)
print("complete" if not missing else f"broken: {missing} messages are missing")
