"""Dict-heavy: four threads count words and merge their counts into a shared index."""

import sys
import threading

TEXT = """
the quick brown fox jumps over the lazy dog and then some other words come by as if nothing had happened
"""
WORDS = TEXT.split()


def lines(seed, count):
    state = seed
    for _ in range(count):
        line = []
        for _ in range(12):
            state = (state * 1103515245 + 12345) % 2147483648
            line.append(WORDS[state % len(WORDS)] + str(state % 50))
        yield line


def count_words(seed, count, index, lock):
    counts = {}
    longest = {}
    for line in lines(seed, count):
        for word in line:
            counts[word] = counts.get(word, 0) + 1
            first = word[0]
            if first not in longest or len(longest[first]) < len(word):
                longest[first] = word
    with lock:
        for word, number in counts.items():
            index[word] = index.get(word, 0) + number


def main(count):
    index, lock = {}, threading.Lock()
    threads = [threading.Thread(target=count_words, args=(seed, count, index, lock)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(len(index), sum(index.values()))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 90_000)
