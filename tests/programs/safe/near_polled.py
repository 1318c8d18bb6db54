"""A flag is read under the lock that also guards the data beside it."""

import threading


class Mailbox:
    def __init__(self):
        self.lock = threading.Lock()
        self.is_closed = False
        self.letters = []
        self.counted = 0
        self.late = 0

    def post(self, letter):
        with self.lock:
            if not self.is_closed:
                self.letters.append(letter)

    def close(self):
        with self.lock:
            self.is_closed = True
            self.counted = len(self.letters)

    def open(self):
        with self.lock:
            self.late += len(self.letters) - self.counted
            self.is_closed = False


box = Mailbox()


def writer():
    for n in range(100):
        box.post(f"letter {n}")


def postman():
    for _ in range(80):
        box.close()
        box.open()


threads = [threading.Thread(target=job) for job in (writer, writer, postman)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(f"broken: {box.late} letters in a closed box" if box.late else "no letters in a closed box")
