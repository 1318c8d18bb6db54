"""The action of a barrier counts the rounds, under the lock of who takes them away; what players bid waits for it."""

import threading


class Rounds:
    def __init__(self, players):
        self.lock = threading.Lock()
        self.bids = [0] * players
        self.paid = []
        self.open = 0
        self.barrier = threading.Barrier(players, action=self.close)

    def close(self):
        self.paid.append(sum(self.bids))
        with self.lock:
            before = self.open
            self.open = before + 1

    def settle(self):
        with self.lock:
            done = self.open
            self.open = self.open - done
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
