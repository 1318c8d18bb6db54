"""Who polls an event, a future or a thread only wants to know when to stop or to go on."""

import threading
import time
from concurrent.futures import Future


class Pump:
    def __init__(self):
        self.stop = threading.Event()
        self.ready = threading.Event()
        self.answer = Future()
        self.lock = threading.Lock()
        self.level = 0
        self.limit = 0

    def prepare(self):
        self.limit = 100
        self.ready.set()

    def step(self):
        with self.lock:
            assert self.lock.locked()
            self.level += 1

    def run(self):
        while not self.stop.is_set():
            self.step()
            if self.stop.is_set():
                break
            time.sleep(0)

    def wait_until_ready(self):
        while not self.ready.is_set():
            time.sleep(0.001)
        return self.limit

    def wait_for_answer(self):
        while not self.answer.done():
            time.sleep(0.001)
        return self.answer.result()


def watcher(pump, seen):
    seen.append(pump.wait_until_ready())
    seen.append(pump.wait_for_answer())


pump = Pump()
seen = []
runners = [threading.Thread(target=pump.run) for _ in range(2)]
watching = [threading.Thread(target=watcher, args=(pump, seen)) for _ in range(2)]
for thread in (*runners, *watching):
    thread.start()
pump.prepare()
pump.answer.set_result("done")
while any(thread.is_alive() for thread in watching):
    time.sleep(0.001)
pump.stop.set()
for thread in (*runners, *watching):
    thread.join()
print(sorted(map(str, seen)), pump.level >= 0)
