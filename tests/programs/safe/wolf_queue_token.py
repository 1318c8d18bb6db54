"""A token with the next number goes around in a queue: whoever has it takes the number and puts back the next one."""

import queue
import threading

token = queue.Queue()
token.put(0)
numbers = queue.SimpleQueue()


def draw():
    number = token.get()
    token.put(number + 1)
    return number


def drawer():
    for _ in range(50):
        numbers.put(draw())


def feeder(source, sink):
    while True:
        item = source.get()
        if item is None:
            break
        sink.put(item * 2)


raw, doubled = queue.Queue(), queue.Queue()
threads = [threading.Thread(target=drawer) for _ in range(3)]
feeders = [threading.Thread(target=feeder, args=(raw, doubled)) for _ in range(2)]
for thread in threads + feeders:
    thread.start()
for thread in threads:
    thread.join()
drawn = [numbers.get() for _ in range(150)]
for number in drawn:
    raw.put(number)
for _ in feeders:
    raw.put(None)
for thread in feeders:
    thread.join()
print("drawn" if sorted(drawn) == list(range(150)) else "broken: drawn", doubled.qsize())
