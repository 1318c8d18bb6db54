"""Why a violation is a suspect or a note and no finding, in words for people."""

from __future__ import annotations

from typing import Literal, NamedTuple

# How sure it is that a violation is a bug; the surest first.
Level = Literal["finding", "suspect", "note"]
LEVELS: tuple[Level, ...] = ("finding", "suspect", "note")


class Reason(NamedTuple):
    """A level below `finding`, and why."""

    level: Level
    why: str


def _note(why: str) -> Reason:
    return Reason("note", why)


def _suspect(why: str) -> Reason:
    return Reason("suspect", why)


# ---- proofs, and what nobody asked for

ORDER_ONLY = _note("shown by the order of locks, threads or hand-overs only; the data that is watched is serializable")
COMMUTES = _note("the operations that interleave give the same state and the same results in either order")
SUMS = _note("numbers are added and subtracted, each time in one step: the sum is the same in every order")
UNUSED = _note("nothing is made of a value that was read: it is not kept, returned or passed on, and decides nothing")
SAME_LITERAL = _note("the same value is written both times, so nobody can tell which write came first")
OVERWRITTEN = _note("one value after the other is written and nobody reads in between: the last write decides")
CHECKED_AGAIN = _note(
    "the value read first only decides whether to look again, and the same condition is checked under the lock"
)
ASKS_ITSELF = _note("what is done then looks by itself, in the same step, whether it still can")
KEPT = _note("what others did in between cannot change what the value read first has decided")
HANDED_OUT = _note("a queue leaves open who takes which item, and nothing but one item was taken from it")
ITERATIONS = _note(
    "the two accesses are in different iterations of a loop, and nothing is carried from one to the other"
)

# ---- idioms, guesses, and limits of what was seen

NO_FLOW = _suspect("nothing ties the two accesses: no value, condition or result of one has to do with the other")
WHOLE = _suspect("a key could not be told apart from others, so the whole container was taken for it")
ACROSS = _suspect("the two accesses are of different objects, and nobody said that these belong together")
NOBODY = _suspect("no region alone is to blame: the cycle is closed by the order of locks, threads or hand-overs")
ADDED = _suspect("both add or remove the same element: harmless, unless somebody looks at the container in between")
SHOWN = _suspect("the two values are read one by one and only given to one call, which may just show them")
COLLECTED = _suspect("the two accesses are in different iterations of a loop that only collects their results")
LET_IN = _suspect("the lock is released inside its own block and taken again, which lets others in on purpose")
VALIDATED = _suspect("the unit looks whether others came in between: by a mark of its own, or by what it read before")
PHASES = _suspect("one literal is written after the other, and others only compare the value")
APPENDS = _suspect("others append or put between two appends or puts of one unit: that may be meant so")
ONE_BY_ONE = _suspect("items are taken from a queue one by one, and nothing shows that two of them belong together")
PICKED = _suspect("what is put meanwhile may come out first, which such a queue is for")
RECURSIVE = _suspect(
    "a recursive call does again what was done before: only whether there is such a call, and with what, may rest on it"
)
TAKEN = _suspect("what was taken out is put back or marked: meanwhile others may be meant to see it gone")
ENTRY_LOOP = _suspect(
    "both are in one iteration of a thread's main loop, which may be several steps, and no value goes between them"
)
OPERANDS = _suspect("something is added each time in one step: harmless if these are numbers, which is not known")
UNSEEN = _suspect("the trace does not say how the values flow between the two accesses")

FORGOTTEN = _suspect(
    "the first access was too long ago when the last one came: a live check remembers the latest events only"
)
CHECKED_UNLOCKED = _suspect(
    "the same condition is checked again before it counts, but not all who write hold a lock there"
)
CHECKED_AND_COUNTED = _suspect(
    "the same condition is checked again under the lock, but something is counted or answered by the first check alone"
)
OTHER_WAYS = _suspect(
    "the order of these two accesses tells nothing, but others look at the data too, or order the transactions"
)
BALANCED = _suspect(
    "a number is added and later subtracted again: others may be meant to see it in between, as with a gauge"
)
CHECKED_OTHERWISE = _suspect(
    "the first check is for None, and the one under the lock for anything that is as good as nothing"
)
CHECKED_ALIKE = _suspect(
    "it is checked again under the lock: by a condition that is written in the same way, which is all that is known"
)

OTHER_WAY = _suspect(
    "in this order a thread reads another value than in the run before one of the steps, and may go another way then"
)

STANDS_IN = _suspect(
    "it takes another thread that does what the first one did, and what it read is not why it did something else"
)

# Of what is among the suspects as long as nobody knows better.
UNDECIDED = _suspect("the check was stopped before it was known whether it counts")
