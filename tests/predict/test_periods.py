"""Which periods of other threads are over: what is kept of it follows the changes, and says what copies would say."""

from __future__ import annotations

import random

from atomsan.predictors.order import Order
from atomsan.trace.events import Op

Known = dict[int, int]


class Copies:
    """What each period of each thread knows, as a copy of its own: as in the definition."""

    def __init__(self) -> None:
        self.periods: dict[int, list[Known]] = {}
        self.posted: dict[int, Known] = {}

    def add(self, thread: int, op: Op, target: int) -> None:
        periods = self.periods.setdefault(thread, [{}])
        known = {**periods[-1], thread: len(periods)}
        if op == Op.FORK:
            self.learn(self.periods.setdefault(target, [{}])[0], known)
        elif op == Op.JOIN:
            child = self.periods.setdefault(target, [{}])
            self.learn(known, {**child[-1], target: len(child)})
        elif op == Op.POST:
            self.learn(self.posted.setdefault(target, {}), known)
        else:
            self.learn(known, self.posted.get(target, {}))
        periods.append(known)

    def learn(self, known: Known, more: Known) -> None:
        known.update({thread: over for thread, over in more.items() if over > known.get(thread, 0)})


def test_periods_know_what_their_copies_would_know() -> None:
    rng = random.Random(1)
    for _ in range(100):
        order, copies = Order(), Copies()
        begun = [0]
        for event in range(rng.randrange(5, 60)):
            op = rng.choice([Op.FORK, Op.JOIN, Op.POST, Op.TAKE])
            thread = rng.choice(begun)
            target = len(begun) if op == Op.FORK else rng.choice([*(set(begun) - {thread}), 1000])
            if op == Op.FORK:
                begun.append(target)
            elif op in (Op.POST, Op.TAKE):
                target %= 2
            order.add(thread, op, target, event)
            copies.add(thread, op, target)
        for thread, periods in copies.periods.items():
            for period, known in enumerate(periods):
                assert order.over(thread, period) == known
                assert all(order.over_before(thread, period, other) == known.get(other, 0) for other in [*begun, 1000])


def test_thread_that_joins_many_keeps_one_change_for_each() -> None:
    order = Order()
    for child in range(1, 3001):
        order.add(0, Op.FORK, child, 2 * child)
    for child in range(1, 3001):
        order.add(0, Op.JOIN, child, 10_000 + child)
    (periods, _) = order._of(0)._changes[1]
    assert len(periods) == 1
    assert sum(len(counts) for _, counts in order._of(0)._changes.values()) == 3000 + 6000
    assert order.over_before(0, 3000 + 1500, 1500) == 1
    assert order.over_before(0, 3000 + 1500, 1501) == 0
