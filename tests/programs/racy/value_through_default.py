# expect: Poll.vote
# within: voter

"""The votes so far become the default of a small function that works out the next number."""

import threading


class Poll:
    def __init__(self):
        self.lock = threading.RLock()
        self.votes = 0

    def so_far(self):
        with self.lock:
            return self.votes  # bug

    def declare(self, votes):
        with self.lock:
            self.votes = votes  # bug

    def vote(self):
        def after(more, before=self.so_far()):  # noqa: B008  # bug
            return before + more

        self.declare(after(1))  # bug


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
