"""A profile is changed in place under its lock."""

import threading


class Profile:
    def __init__(self):
        self.lock = threading.Lock()
        self.revision = 0
        self.author = ""

    def fetch(self):
        with self.lock:
            return {"revision": self.revision, "author": self.author}

    def send(self, fields):
        with self.lock:
            self.revision = fields["revision"]
            self.author = fields["author"]


profile = Profile()


def rename(author):
    with profile.lock:
        profile.author = author
        profile.revision += 1


def editor(author):
    for _ in range(60):
        rename(author)


threads = [threading.Thread(target=editor, args=(name,)) for name in ("ann", "bob", "cid")]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(profile.revision if profile.revision == 180 else f"broken: revision {profile.revision} after 180 edits")
