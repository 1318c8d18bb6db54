# expect: Numbers.put_in_order
# within: Sorter.run

"""Each thread keeps two neighbours in order: two exchanges at a time lose a number and double another."""

import threading


class Numbers:
    def __init__(self, values):
        self.values = list(values)

    def put_in_order(self, i):
        first = self.values[i]  # bug
        second = self.values[i + 1]  # bug
        if first > second:
            self.values[i] = second  # bug
            self.values[i + 1] = first  # bug

    def is_sorted(self):
        return all(one <= other for one, other in zip(self.values, self.values[1:], strict=False))


class Sorter(threading.Thread):
    """Looks at its two places again and again: their neighbours change them too."""

    def __init__(self, numbers, place, looks):
        super().__init__()
        self.numbers = numbers
        self.place = place
        self.looks = looks

    def run(self):
        for _ in range(self.looks):
            self.numbers.put_in_order(self.place)


def main():
    size = 16
    numbers = Numbers(range(size, 0, -1))
    for _ in range(size):
        sorters = [Sorter(numbers, place, 20) for place in range(size - 1)]
        for sorter in sorters:
            sorter.start()
        for sorter in sorters:
            sorter.join()
    is_complete = sorted(numbers.values) == list(range(1, size + 1))
    print(f"sorted: {numbers.is_sorted()}, none lost: {is_complete}")


main()
