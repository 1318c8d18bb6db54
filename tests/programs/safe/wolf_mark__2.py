"""A file is saved with its mark taken off first; who writes meanwhile sets it again, and it is saved once more."""

import threading

lock = threading.Lock()
text = ""
saved = ""
is_dirty = False


def write(word):
    global text, is_dirty
    with lock:
        text += word
        is_dirty = True


def save():
    global saved, is_dirty
    for _ in range(100):
        with lock:
            if not is_dirty:
                return
            is_dirty = False
            copy = text
        with lock:
            saved = copy


def writer():
    for n in range(60):
        write(f"{n} ")


def saver():
    for _ in range(30):
        save()


threads = [threading.Thread(target=writer), threading.Thread(target=saver)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
save()
print("saved" if saved == text else "broken: not all was saved")
