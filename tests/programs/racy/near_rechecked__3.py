# expect: do_last
# within: worker

"""That there is work is looked at again under the lock; which piece it is was looked at only before."""

import threading

work = list(range(150))
lock = threading.Lock()
done = []


def do_last():
    if not work:
        return False
    try:
        piece = work[-1]  # bug
    except IndexError:
        return False
    with lock:
        if not work:
            return False
        work.pop()  # bug
        done.append(piece)
    return True


def worker():
    while do_last():
        pass


threads = [threading.Thread(target=worker) for _ in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print("all done" if sorted(done) == list(range(150)) else f"broken: {150 - len(set(done))} pieces were not done")
