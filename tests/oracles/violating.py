"""Violating transactions: davida-2022 (and RegionTrack), with the dependencies of its section III.B.

A dependency e_a -> e_b joins two conflicting events of different threads with no third one in between that
conflicts with both. It is a violation of the regular transaction tx of e_b if tx's begin happens
before e_a, event by event.

As in `docs/papers.md`, the dependencies into e_b are:
  read    <- the last write, if it is this thread's first read since then;
  write   <- each other thread's last read since the last write; the last write, if nobody read since;
  acquire <- the last release of the lock;
  join    <- the child's last event, if it had any; a child's first event <- its fork;
  take    <- each other thread's last post, if this thread has not taken since (not in the paper; as for reads).
A cycle that does not follow the order of events violates no transaction.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import NamedTuple

from oracles.model import Event, Step, Transaction, happens_before, normalise, owners, transactions


class Violation(NamedTuple):
    transaction: Transaction
    first: int  # e_a and e_b, as indexes of steps
    second: int
    by_join: bool


def violations(steps: Sequence[Step], loops: Collection[str] = ()) -> list[Violation]:
    events = normalise(steps, loops)
    found = transactions(events)
    owner = owners(found)
    before = happens_before(events, loops)
    result: list[Violation] = []
    for second, event in enumerate(events):
        transaction = found[owner[second]]
        for first in sorted(dependencies(events, second, loops)):
            if transaction.number is not None and transaction.events[0] in before[first]:
                result.append(Violation(transaction, *_steps_of(events, first, second), event.op == "join"))
    return result


def violating(steps: Sequence[Step], loops: Collection[str] = ()) -> set[tuple[str, int]]:
    """The violating transactions as (thread, number)."""
    found = {violation.transaction for violation in violations(steps, loops)}
    return {(transaction.thread, transaction.number) for transaction in found if transaction.number}


def _steps_of(events: Sequence[Event], first: int, second: int) -> tuple[int, int]:
    """Ends that were fed come after every real event, so no dependency touches one."""
    e_a, e_b = events[first].origin, events[second].origin
    assert e_a is not None
    assert e_b is not None
    return e_a, e_b


def dependencies(events: Sequence[Event], second: int, loops: Collection[str] = ()) -> set[int]:
    """The places e_a of all dependencies into the event at `second`, which come from other threads."""
    event = events[second]
    sources = set(_sources(events, second, loops)) | set(_fork_of_first(events, second))
    return {source for source in sources if events[source].thread != event.thread}


def _sources(events: Sequence[Event], second: int, loops: Collection[str]) -> Iterator[int]:
    thread, op, target, _ = events[second]
    if op == "read":
        write = _last(events, second, "write", target)
        if not _any(events, write, second, "read", target, thread):
            yield from _some(write)
    elif op == "write":
        write = _last(events, second, "write", target)
        if not _any(events, write, second, "read", target):
            yield from _some(write)
        yield from _last_of_each_thread(events, range((write or 0), second), "read", target)
    elif op == "acquire" and target not in loops:
        yield from _some(_last(events, second, "release", target))
    elif op == "join":
        yield from [place for place in range(second) if events[place].thread == target][-1:]
    elif op == "take":
        for post in _last_of_each_thread(events, range(second), "post", target):
            if not _any(events, post, second, "take", target, thread):
                yield post


def _fork_of_first(events: Sequence[Event], second: int) -> Iterator[int]:
    thread = events[second].thread
    if all(event.thread != thread for event in events[:second]):
        yield from _some(_last(events, second, "fork", thread))


def _some(place: int | None) -> Iterable[int]:
    return [] if place is None else [place]


def _last(events: Sequence[Event], until: int, op: str, target: str) -> int | None:
    places = [place for place in range(until) if events[place][1:3] == (op, target)]
    return places[-1] if places else None


def _any(
    events: Sequence[Event], since: int | None, until: int, op: str, target: str, thread: str | None = None
) -> bool:
    """Is there such an event between the two places (of `thread`, or of any thread)?"""
    return any(
        event[1:3] == (op, target) and thread in (None, event.thread)
        for event in events[(0 if since is None else since + 1) : until]
    )


def _last_of_each_thread(events: Sequence[Event], places: Iterable[int], op: str, target: str) -> Iterable[int]:
    last = {events[place].thread: place for place in places if events[place][1:3] == (op, target)}
    return last.values()
