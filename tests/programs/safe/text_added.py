"""A speaker's name and words are added to one text under one lock."""

import threading


class Transcript:
    def __init__(self):
        self.lock = threading.Lock()
        self.text = ""

    def say(self, name, words):
        with self.lock:
            self.text += name + ": "
            self.text += words + "\n"


transcript = Transcript()


def speaker(name):
    for _ in range(40):
        transcript.say(name, f"I am {name}")


threads = [threading.Thread(target=speaker, args=(name,)) for name in ("ann", "bob")]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
for line in transcript.text.splitlines():
    if line not in ("ann: I am ann", "bob: I am bob"):
        print("broken:", line)
        break
else:
    print("all lines are whole")
