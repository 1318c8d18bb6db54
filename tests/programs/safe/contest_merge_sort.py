"""Merge sort in a few threads: whether one more may start is asked and noted in one locked call."""

import threading

WORTH_A_THREAD = 8


class Threads:
    """How many more threads may run."""

    def __init__(self, most):
        self.free = most
        self.fewest = most
        self.lock = threading.Lock()

    def take(self):
        """Whether there was one left."""
        with self.lock:
            if self.free == 0:
                return False
            self.free -= 1
            self.fewest = min(self.fewest, self.free)
            return True

    def give_back(self):
        with self.lock:
            self.free += 1


class Helper(threading.Thread):
    def __init__(self, values, threads):
        super().__init__()
        self.values = values
        self.threads = threads

    def run(self):
        self.values = sort(self.values, self.threads)


def may_start(threads):
    return threads.take()


def sort(values, threads):
    if len(values) < 2:
        return values
    middle = len(values) // 2
    if len(values) >= WORTH_A_THREAD and may_start(threads):
        helper = Helper(values[:middle], threads)
        helper.start()
        right = sort(values[middle:], threads)
        helper.join()
        threads.give_back()
        return merge(helper.values, right)
    return merge(sort(values[:middle], threads), sort(values[middle:], threads))


def merge(left, right):
    merged = []
    while left and right:
        merged.append(left.pop(0) if left[0] <= right[0] else right.pop(0))
    return merged + left + right


def main():
    size = 32
    threads = Threads(3)
    is_sorted = True
    for factor in range(3, 33, 2):
        values = sort([value * factor % size for value in range(size)], threads)
        is_sorted = is_sorted and values == list(range(size))
    print(f"sorted: {is_sorted}, threads over the limit: {max(0, -threads.fewest)}")


main()
