"""A singleton that lives as long as it is used, found or made under a lock."""

import threading
import weakref


def nothing():
    return None


class Texture:
    current = nothing
    lock = threading.Lock()

    @classmethod
    def shared(cls):
        with cls.lock:
            texture = cls.current()
            if texture is None:
                texture = cls()
                cls.current = weakref.ref(texture)
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
