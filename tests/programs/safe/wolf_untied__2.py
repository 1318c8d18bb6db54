"""A worker tells that it lives before and after its job; the two calls have nothing to do with each other."""

import threading


class Monitor:
    def __init__(self):
        self._lock = threading.Lock()
        self._beats = {}
        self._last = None

    def beat(self, who):
        with self._lock:
            self._beats[who] = self._beats.get(who, 0) + 1
            self._last = who

    def silent(self):
        with self._lock:
            return [who for who, beats in self._beats.items() if beats == 0]


monitor = Monitor()


def job(who, n):
    monitor.beat(who)
    result = n * n
    monitor.beat(who)
    return result


def worker(who):
    for n in range(60):
        job(who, n)


threads = [threading.Thread(target=worker, args=(who,)) for who in ("x", "y", "z")]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print("all alive" if not monitor.silent() else "broken: silent", monitor.silent())
