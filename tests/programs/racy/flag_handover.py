# expect: Mailbox.put
# within: writer

"""The flag is up before the letter is in: the other side takes the old one."""

import threading


class Mailbox:
    def __init__(self):
        self.full = False
        self.letter = None

    def put(self, letter):
        if self.full:
            return
        self.full = True  # bug
        self.letter = letter  # bug

    def take(self):
        if self.full:  # bug
            letter = self.letter  # bug
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
