# expect: memoize.<locals>.wrapper
# within: worker

"""A hand-written memo: two callers can get two different results for the same argument."""

import threading


def memoize(function):
    memo = {}

    def wrapper(n):
        if n in memo:  # bug
            return memo.get(n)
        if len(memo) >= 3:
            memo.clear()  # bug
        result = function(n)
        memo[n] = result  # bug
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
