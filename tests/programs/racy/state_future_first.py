# expect: Race.offer
# within: run

"""The first answer counts, but two may find that there is none yet: the second one is refused with an exception."""

import threading
from concurrent.futures import Future, InvalidStateError


class Race:
    def __init__(self):
        self.first = Future()

    def offer(self, answer):
        if not self.first.done():  # bug
            self.first.set_result(answer)  # bug


def run(races, me, failed):
    for race in races:
        try:
            race.offer(me)
        except InvalidStateError:
            failed.append(me)


races = [Race() for _ in range(50)]
failed = []
threads = [threading.Thread(target=run, args=(races, me, failed)) for me in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print("broken: answered twice" if failed else "answered", all(race.first.done() for race in races))
