"""Objects that two threads use and then nobody: as many as the first argument says, a thousand at a time."""

import queue
import sys
import threading

AT_ONCE = 1000


class Order:
    def __init__(self, number):
        self.number = number
        self.seen = 0


def work(orders, done):
    while (some := orders.get()) is not None:
        for order in some:
            order.seen = order.number + 1
        done.put(len(some))


def main(count):
    orders, done = queue.Queue(), queue.Queue()
    thread = threading.Thread(target=work, args=(orders, done))
    thread.start()
    for first in range(0, count, AT_ONCE):
        orders.put([Order(number) for number in range(first, first + AT_ONCE)])
        done.get()
    orders.put(None)
    thread.join()


main(int(sys.argv[1]))
