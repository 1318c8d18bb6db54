"""A password is fetched anew when it is too old: looked at without the lock, and again under it."""

import threading
import time


class Password:
    def __init__(self):
        self.lock = threading.Lock()
        self.until, self.fetched = 0.0, 0

    def renew(self):
        if self.until < time.monotonic():
            with self.lock:
                if self.until < time.monotonic():
                    self.fetched += 1
                    self.until = time.monotonic() + 0.002


password = Password()


def user():
    for _ in range(40):
        password.renew()
        time.sleep(0.0002)


threads = [threading.Thread(target=user) for _ in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print("fetched" if password.fetched else "never fetched")
