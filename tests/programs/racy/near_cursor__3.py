# expect: last_line
# within: console

"""A cursor into a log that is also cut at its front: what stands there later is another line, or none."""

import threading

lines = []
lock = threading.Lock()
wrong = []


def write(line):
    with lock:
        lines.append(line)
        if len(lines) > 5:
            del lines[:4]  # bug


def last_line():
    with lock:
        at = len(lines) - 1  # bug
    with lock:
        return lines[at] if 0 <= at < len(lines) else "gone"  # bug


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
