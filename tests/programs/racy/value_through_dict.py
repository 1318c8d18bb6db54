# expect: rename
# within: editor

"""A profile is fetched as a dict, changed and sent back: two editors overwrite each other's field."""

import threading


class Profile:
    def __init__(self):
        self.lock = threading.Lock()
        self.revision = 0
        self.author = ""

    def fetch(self):
        with self.lock:
            return {"revision": self.revision, "author": self.author}  # bug

    def send(self, fields):
        with self.lock:
            self.revision = fields["revision"]  # bug
            self.author = fields["author"]


profile = Profile()


def rename(author):
    fields = profile.fetch()  # bug
    fields["author"] = author
    fields["revision"] += 1
    profile.send(fields)  # bug


def editor(author):
    for _ in range(60):
        rename(author)


threads = [threading.Thread(target=editor, args=(name,)) for name in ("ann", "bob", "cid")]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(profile.revision if profile.revision == 180 else f"broken: revision {profile.revision} after 180 edits")
