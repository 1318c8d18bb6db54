"""Open bills are changed in the dict under the lock."""

import threading

bills = {"ann": [], "bob": []}
lock = threading.Lock()
paid = []


def bill(customer, amount):
    with lock:
        bills[customer] = [*bills.get(customer, ()), amount]


def settle(customer):
    with lock:
        mine = bills.pop(customer, [])
        small = [amount for amount in mine if amount < 5]
        bills[customer] = [amount for amount in mine if amount >= 5]
    paid.extend(small)


def shop():
    for n in range(60):
        bill("ann" if n % 2 else "bob", n % 10)


def accountant():
    for n in range(60):
        settle("bob" if n % 2 else "ann")


threads = [threading.Thread(target=shop), threading.Thread(target=shop), threading.Thread(target=accountant)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
kept = len(paid) + sum(len(of_customer) for of_customer in bills.values())
print(f"broken: {120 - kept} bills are lost" if kept != 120 else "no bill is lost")
