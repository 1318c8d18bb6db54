"""Requests under way go up and down around the work; a monitor shows how many there are, and how many at most."""

import threading
import time


class Server:
    def __init__(self):
        self.lock = threading.Lock()
        self.running = 0
        self.most = 0

    def answer(self, number):
        with self.lock:
            self.running += 1
            self.most = max(self.most, self.running)
        time.sleep(0)
        answer = work(number)
        with self.lock:
            self.running -= 1
        return answer

    def load(self):
        with self.lock:
            return self.running


def work(number):
    return number * number


server = Server()
seen = []


def client():
    for number in range(30):
        server.answer(number)


def monitor():
    for _ in range(60):
        seen.append(server.load())


threads = [threading.Thread(target=target) for target in (client, client, monitor)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(len(seen), "looks,", server.running, "left")
