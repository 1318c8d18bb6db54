"""Readers sign off while the one with the longest name is looked for."""

import threading


class Newsletter:
    def __init__(self):
        self.readers = set()
        self.lock = threading.Lock()

    def longest(self):
        longest = ""
        with self.lock:
            for reader in self.readers:
                if len(reader) > len(longest):
                    longest = reader
        return longest

    def sign_on(self, reader):
        with self.lock:
            self.readers.add(reader)

    def sign_off(self, reader):
        with self.lock:
            self.readers.remove(reader)


newsletter = Newsletter()
for number in range(5):
    newsletter.sign_on(f"r{number}")


def addressing():
    for _ in range(60):
        newsletter.longest()


def moving():
    for number in range(5, 65):
        newsletter.sign_on(f"reader {number}")
        newsletter.sign_off(f"reader {number}")


threads = [threading.Thread(target=moving), threading.Thread(target=addressing)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(newsletter.longest())
