# expect: Rounds.close
# within: player

"""The action of a barrier counts the rounds, and somebody who is no party of it takes some of them away."""

import threading


class Rounds:
    def __init__(self, players):
        self.bids = [0] * players
        self.paid = []
        self.open = 0
        self.barrier = threading.Barrier(players, action=self.close)

    def close(self):
        self.paid.append(sum(self.bids))
        before = self.open  # bug
        self.open = before + 1  # bug

    def settle(self):
        done = self.open  # bug
        self.open = self.open - done  # bug
        return done


rounds = Rounds(3)
settled = []


def player(number):
    for bid in range(40):
        rounds.bids[number] = bid
        rounds.barrier.wait()


def cashier():
    for _ in range(40):
        settled.append(rounds.settle())


threads = [threading.Thread(target=player, args=(number,)) for number in range(3)]
threads.append(threading.Thread(target=cashier))
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
count = sum(settled) + rounds.open
print("settled" if count == 40 else "broken: settled", count, "of 40 rounds,", len(rounds.paid))
