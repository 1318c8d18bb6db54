"""An append and a look at the last one under one lock."""

import threading


class Chat:
    def __init__(self):
        self.lock = threading.Lock()
        self.lines = []

    def say(self, who, text):
        with self.lock:
            self.lines.append({"who": who, "text": text})
            mine = self.lines[-1]
        mine["seen"] = True
        return mine["who"]


chat = Chat()
foreign = []


def member(who):
    for n in range(60):
        if chat.say(who, f"text {n}") != who:
            foreign.append(n)


threads = [threading.Thread(target=member, args=(who,)) for who in ("ann", "bob", "cid")]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(f"broken: {len(foreign)} marked as seen by others" if foreign else "all marked")
