"""A tariff is text, compiled at its own place in the file, so that errors in it are shown there."""

import threading

TARIFF = """
def charge(phone, minutes):
    with phone.lock:
        if phone.free >= minutes:
            phone.free -= minutes
        else:
            phone.due = phone.due + 3 * minutes
"""


class Phone:
    def __init__(self):
        self.free = 100
        self.due = 0
        self.lock = threading.Lock()


def loaded(text, line):
    names = {}
    exec(compile("\n" * (line - 1) + text, __file__, "exec"), names)
    return names["charge"]


tariff = loaded(TARIFF, 5)
phone = Phone()


def calling():
    for _ in range(60):
        tariff(phone, 1)


threads = [threading.Thread(target=calling) for _ in range(2)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
if phone.free or phone.due != 60:
    print("broken:", phone.free, phone.due)
print("called")
