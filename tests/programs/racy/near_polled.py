# expect: Mailbox.post
# within: writer

"""A flag is polled, and what it says decides about the data beside it: a letter is left in a closed box."""

import threading


class Mailbox:
    def __init__(self):
        self.lock = threading.Lock()
        self.is_closed = False
        self.letters = []
        self.counted = 0
        self.late = 0

    def post(self, letter):
        if not self.is_closed:  # bug
            with self.lock:
                self.letters.append(letter)  # bug

    def close(self):
        with self.lock:
            self.is_closed = True  # bug
            self.counted = len(self.letters)  # bug

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
