"""Hits of a session, by its UUID: counted in one critical section."""

import threading
import uuid


class Sessions:
    def __init__(self):
        self.lock = threading.Lock()
        self.hits = {}

    def hit(self, session):
        with self.lock:
            self.hits[session] = self.hits.get(session, 0) + 1


SESSION = "12345678123456781234567812345678"
sessions = Sessions()


def browser():
    for _ in range(60):
        sessions.hit(uuid.UUID(SESSION))


threads = [threading.Thread(target=browser) for _ in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
hits = sessions.hits[uuid.UUID(SESSION)]
print("hits" if hits == 180 else "broken: hits", hits)
