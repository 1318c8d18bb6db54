"""The letter is in before the flag is up. One writer, one reader, no lock needed."""

import threading


class Mailbox:
    def __init__(self):
        self.full = False
        self.letter = None

    def put(self, letter):
        if self.full:
            return
        self.letter = letter
        self.full = True

    def take(self):
        if self.full:
            letter = self.letter
            self.full = False
            return letter
        return None


mailbox = Mailbox()


def writer():
    for i in range(300):
        mailbox.put(i)


def reader():
    for _ in range(300):
        mailbox.take()


threads = [threading.Thread(target=writer), threading.Thread(target=reader)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print("done")
