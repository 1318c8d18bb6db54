# expect: Transcript.say
# within: speaker

"""A speaker's name and words are added to one text, with the lock let go between the two."""

import threading


class Transcript:
    def __init__(self):
        self.lock = threading.Lock()
        self.text = ""

    def say(self, name, words):
        with self.lock:
            self.text += name + ": "  # bug
        with self.lock:
            self.text += words + "\n"  # bug


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
