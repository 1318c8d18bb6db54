"""A hand-written memo, with a lock around the look and the entry."""

import threading


def memoize(function):
    memo = {}
    lock = threading.Lock()

    def wrapper(n):
        with lock:
            if n in memo:
                return memo.get(n)
            if len(memo) >= 3:
                memo.clear()
            result = function(n)
            memo[n] = result
            return result

    return wrapper


@memoize
def squares(n):
    return [i * i for i in range(n)]


def worker():
    for i in range(100):
        squares(i * i % 7)


threads = [threading.Thread(target=worker) for _ in range(3)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(squares(4))
