"""Free places go down when somebody comes, and up again if he does not stay."""

import threading

free = 1000
gate = threading.Lock()


def visit(stays):
    global free
    with gate:
        free -= 1
    if not stays:
        with gate:
            free += 1


def crowd():
    for n in range(90):
        visit(stays=n % 3 == 0)


threads = [threading.Thread(target=crowd) for _ in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print("free" if free == 910 else "broken: free", free)
