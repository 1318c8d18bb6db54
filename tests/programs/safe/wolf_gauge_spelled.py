"""Requests in flight: one more when one comes, one less when it goes, each in a critical section, spelled out."""

import threading
import time


class Server:
    def __init__(self):
        self.lock = threading.Lock()
        self.in_flight = 0

    def handle(self, request):
        with self.lock:
            self.in_flight = self.in_flight + 1
        time.sleep(0)
        answer = request * 2
        with self.lock:
            self.in_flight = self.in_flight - 1
        return answer


server = Server()


def client():
    for request in range(60):
        server.handle(request)


threads = [threading.Thread(target=client) for _ in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print("idle" if server.in_flight == 0 else "broken: in flight", server.in_flight)
