# expect: Texture.shared
# within: worker

"""A singleton that lives as long as it is used; two threads make two."""

import threading
import weakref


def nothing():
    return None


class Texture:
    current = nothing

    @classmethod
    def shared(cls):
        texture = cls.current()  # bug
        if texture is None:
            texture = cls()
            cls.current = weakref.ref(texture)  # bug
        return texture


def worker():
    for _ in range(100):
        Texture.shared()


threads = [threading.Thread(target=worker) for _ in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(Texture.current() is None)
