"""The votes so far become the default of a small function, and the poll stays locked until it is called."""

import threading


class Poll:
    def __init__(self):
        self.lock = threading.RLock()
        self.votes = 0

    def so_far(self):
        with self.lock:
            return self.votes

    def declare(self, votes):
        with self.lock:
            self.votes = votes

    def vote(self):
        with self.lock:

            def after(more, before=self.so_far()):  # noqa: B008
                return before + more

            self.declare(after(1))


poll = Poll()


def voter():
    for _ in range(60):
        poll.vote()


threads = [threading.Thread(target=voter) for _ in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print("votes" if poll.votes == 180 else "broken: votes", poll.votes)
