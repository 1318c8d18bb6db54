"""Why a violation is a note and no finding, in words for people."""

from __future__ import annotations

ORDER_ONLY = "it rests on the order of locks, threads or hand-overs alone: no data is seen or left inconsistent"
COMMUTES = "the operations that interleave give the same result in either order"
WHOLE = "it rests on a key that cannot be told apart from others: the whole container was taken for it"
NOBODY = "no region alone is to blame"
ACROSS = "the two accesses are of different objects or sets: each of them is seen and left as it should be"
NO_FLOW = "the region only calls methods of the object, and nothing that one call returns goes into a later one"
CALLED_BACK = "a library calls the code back, and each such call is a step of its own"
LET_IN = "the lock is released inside its own block and taken again: others are let in, and what they did is looked at"
PHASES = "it goes through values that are written down as they are, and each of them is meant to be seen"
CHECKED_AGAIN = "what was read without the lock is only looked at, and read again under the lock before it counts"

# Of what is among the notes as long as nobody knows better.
UNDECIDED = "the check was stopped before it was known whether it counts"
