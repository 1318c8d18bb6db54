"""A flag says stop. It is written without a lock and read at the top of each round: an old value is one more round."""

import threading


class Pump:
    def __init__(self):
        self.stopped = False
        self.strokes = 0

    def run(self):
        while not self.stopped:
            self.strokes += 1
            if self.strokes >= 2000:
                break

    def stop(self):
        self.stopped = True


pumps = [Pump() for _ in range(3)]
threads = [threading.Thread(target=pump.run) for pump in pumps]
for thread in threads:
    thread.start()
for pump in pumps:
    pump.stop()
for thread in threads:
    thread.join()
print("done")
