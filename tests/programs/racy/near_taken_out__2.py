# expect: Mail.collect
# within: reader

"""All letters are taken and the box is emptied, but in two critical sections: what came between them is gone."""

import threading


class Mail:
    def __init__(self):
        self.lock = threading.Lock()
        self.box = []

    def post(self, letter):
        with self.lock:
            self.box = [*self.box, letter]  # bug

    def collect(self):
        with self.lock:
            letters = self.box  # bug
        with self.lock:
            self.box = []  # bug
        return letters


mail = Mail()
read = []


def writer():
    for letter in range(80):
        mail.post(letter)


def reader():
    for _ in range(80):
        read.extend(mail.collect())


threads = [threading.Thread(target=writer), threading.Thread(target=reader)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
missing = 80 - len(read) - len(mail.box)
print(f"broken: {missing} letters never arrived" if missing else "all letters arrived")
