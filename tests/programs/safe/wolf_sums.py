"""Two numbers grow while a file is sent: the bytes twice, the files once. The sum is the same in every order."""

import threading


class Traffic:
    def __init__(self):
        self.lock = threading.Lock()
        self.sent = 0
        self.files = 0

    def send(self, data):
        with self.lock:
            self.sent += 40
        with self.lock:
            self.files += 1
        with self.lock:
            self.sent += len(data)


traffic = Traffic()


def client():
    for _ in range(60):
        traffic.send(b"0123456789")


threads = [threading.Thread(target=client) for _ in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(traffic.sent if traffic.sent == 180 * 50 else f"broken: {traffic.sent} bytes")
