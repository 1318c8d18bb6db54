# expect: Printer.submit
# within: client
# level: suspect

"""A print job is two entries of a queue, title and text. What comes between them goes under the wrong title."""

import queue
import threading


class Printer:
    def __init__(self):
        self.jobs = queue.Queue()

    def submit(self, title, text):
        self.jobs.put(title)  # bug
        self.jobs.put(text)  # bug


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
    title, text = printer.jobs.get(), printer.jobs.get()
    wrong += title.split()[-1] != text.split()[-1]
print(f"broken: {wrong} texts under a wrong title" if wrong else "all texts under their titles")
