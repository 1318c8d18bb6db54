"""A print job is one entry of a queue."""

import queue
import threading


class Printer:
    def __init__(self):
        self.jobs = queue.Queue()

    def submit(self, title, text):
        self.jobs.put((title, text))


printer = Printer()


def client(name):
    for n in range(50):
        printer.submit(f"title of {name}", f"{n} of {name}")


threads = [threading.Thread(target=client, args=(who,)) for who in ("ann", "bob", "cid")]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
wrong = 0
while not printer.jobs.empty():
    title, text = printer.jobs.get()
    wrong += title.split()[-1] != text.split()[-1]
print(f"broken: {wrong} texts under a wrong title" if wrong else "all texts under their titles")
