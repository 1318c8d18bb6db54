"""The last line of a log that is also cut at its front, taken under the lock."""

import threading

lines = []
lock = threading.Lock()
wrong = []


def write(line):
    with lock:
        lines.append(line)
        if len(lines) > 5:
            del lines[:4]


def last_line():
    with lock:
        return lines[-1]


def console():
    for _ in range(80):
        wrong.append(last_line() == "gone")


def machine():
    for n in range(120):
        write(f"line {n}")


write("start")
threads = [threading.Thread(target=console), threading.Thread(target=machine)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print("broken: no last line" if any(wrong) else "always a last line")
