"""What a reel holds is bound into a partial function, which is called before the lock is let go."""

import functools
import operator
import threading


class Reel:
    def __init__(self):
        self.lock = threading.Lock()
        self.metres = 0

    def wind(self, metres):
        with self.lock:
            longer = functools.partial(operator.add, self.metres)
            self.metres = longer(metres)


reel = Reel()


def angler():
    for _ in range(60):
        reel.wind(5)


threads = [threading.Thread(target=angler) for _ in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print("metres" if reel.metres == 900 else "broken: metres", reel.metres)
