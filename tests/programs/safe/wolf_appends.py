"""Lines of a log: one when a request comes, one when it is answered; each says which request it is of."""

import threading
from collections import deque


class Log:
    def __init__(self):
        self.lock = threading.Lock()
        self.lines = deque(maxlen=1000)

    def write(self, *fields):
        with self.lock:
            self.lines.append(" ".join(map(str, fields)))


log = Log()


def answer(client, request):
    log.write("request", client, request)
    result = request + 1
    log.write("answer", client, request, result)
    return result


def client(name):
    for request in range(60):
        answer(name, request)


threads = [threading.Thread(target=client, args=(name,)) for name in "ab"]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print("lines" if len(log.lines) == 240 else "broken: lines", len(log.lines))
