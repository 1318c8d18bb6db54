# expect: Newsletter.longest
# within: addressing

"""Readers sign off while the one with the longest name is looked for."""

import threading


class Newsletter:
    def __init__(self):
        self.readers = set()

    def longest(self):
        longest = ""
        try:
            for reader in self.readers:  # bug
                if len(reader) > len(longest):
                    longest = reader
        except RuntimeError:
            return None
        return longest

    def sign_on(self, reader):
        self.readers.add(reader)  # bug

    def sign_off(self, reader):
        self.readers.remove(reader)  # bug


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
