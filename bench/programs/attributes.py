"""Attribute-heavy: a simulation of customers at counters, all of it objects with fields. Four threads."""

import sys
import threading


class Customer:
    def __init__(self, number, patience):
        self.number = number
        self.patience = patience
        self.waited = 0
        self.served = False

    def wait(self, time):
        self.waited += time
        return self.waited < self.patience


class Counter:
    def __init__(self, name, speed):
        self.name = name
        self.speed = speed
        self.busy = 0
        self.served = 0
        self.lost = 0
        self.lock = threading.Lock()

    def serve(self, customer):
        need = customer.number % 7 + self.speed
        if not customer.wait(need):
            self.lost += 1
            return False
        self.busy += need
        self.served += 1
        customer.served = True
        return True


class Bank:
    def __init__(self, counters):
        self.counters = counters
        self.total = 0
        self.lock = threading.Lock()

    def add(self, counter):
        with self.lock:
            self.total += counter.served


def work(bank, counter, rounds):
    for start in range(rounds):
        customers = [Customer(start * 10 + i, 30) for i in range(10)]
        for customer in customers:
            for _ in range(4):
                counter.serve(customer)
        if start % 100 == 0:
            bank.add(counter)


def main(rounds):
    counters = [Counter(f"c{i}", i % 3 + 1) for i in range(4)]
    bank = Bank(counters)
    threads = [threading.Thread(target=work, args=(bank, counter, rounds)) for counter in counters]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print(sum(counter.served for counter in counters), sum(counter.lost for counter in counters))


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 48_000)
