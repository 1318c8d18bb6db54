# expect: raising
# within: bidder

"""A generator gives the highest bid and is sent the next one, which it stores if that is higher than what it gave."""

import threading

auction = {"bid": 0}
hammer = threading.Lock()
falls = []


def raising():
    with hammer:
        highest = auction["bid"]  # bug
    bid = yield highest
    with hammer:
        if bid > highest:
            if auction["bid"] > bid:
                falls.append((auction["bid"], bid))
            auction["bid"] = bid  # bug
    yield bid


def bidder(step):
    for _ in range(60):
        turn = raising()
        highest = next(turn)
        turn.send(highest + step)


threads = [threading.Thread(target=bidder, args=(step,)) for step in (1, 5, 9)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(f"broken: a bid fell from {falls[0]}" if falls else "bids only rose")
