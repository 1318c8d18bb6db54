"""AeroDrome: aerodrome-2020, Algorithm 1, without its optimizations: a second reference for serializability.

Departures from the paper (`docs/papers.md` has the reasons): the ends of open regions are added at the end of the
trace; nested markers and re-entrant locking are skipped; joining a thread that had no event changes nothing; an
event outside regions increments its thread's clock, so that later events of the thread are newer than it (in this
form, where begin increments too, no random trace showed a difference).
Added: hand-overs, whose clocks P_{u,h} work like the clocks R_{u,x} of reads.

Names follow the paper: C_t, C_t^begin (here `B`), L_l, W_x, R_{u,x}.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Sequence
from typing import TypeVar

from oracles.model import Event, Step, normalise

Clock = Counter[str]  # a missing entry is 0
K = TypeVar("K")


def first_violation(steps: Sequence[Step], loops: Collection[str] = ()) -> int | None:
    """The place (in the list of events) at which Algorithm 1 reports, or None: serializable."""
    run = _Run(loops)
    for place, event in enumerate(normalise(steps, loops)):
        if run.violates(event):
            return place
    return None


def serializable(steps: Sequence[Step], loops: Collection[str] = ()) -> bool:
    return first_violation(steps, loops) is None


class _Run:
    def __init__(self, loops: Collection[str]) -> None:
        self.loops = loops
        self.depth: Counter[str] = Counter()
        self.started: set[str] = set()
        self.C: dict[str, Clock] = {}
        self.B: dict[str, Clock] = {}
        self.L: dict[str, Clock] = defaultdict(Clock)
        self.W: dict[str, Clock] = defaultdict(Clock)
        self.R: dict[tuple[str, str], Clock] = defaultdict(Clock)
        self.P: dict[tuple[str, str], Clock] = defaultdict(Clock)
        self.last_releaser: dict[str, str] = {}
        self.last_writer: dict[str, str] = {}
        self.violated = False

    def violates(self, event: Event) -> bool:
        self._clock(event.thread)
        getattr(self, f"_{event.op}")(event.thread, event.target)
        self.started.add(event.thread)
        if self.depth[event.thread] == 0:
            self.C[event.thread][event.thread] += 1
        return self.violated

    def _clock(self, thread: str) -> Clock:
        return self.C.setdefault(thread, Counter({thread: 1}))

    def _check_and_get(self, clock: Clock, t: str) -> None:
        if self.depth[t] and self.B[t] <= clock:
            self.violated = True
        self.C[t] |= clock

    def _acquire(self, t: str, lock: str) -> None:
        if lock not in self.loops and self.last_releaser.get(lock) != t:
            self._check_and_get(self.L[lock], t)

    def _release(self, t: str, lock: str) -> None:
        self.L[lock] = self.C[t].copy()
        self.last_releaser[lock] = t

    def _fork(self, t: str, u: str) -> None:
        self.C[u] = self._clock(u) | self.C[t]

    def _join(self, t: str, u: str) -> None:
        if u in self.started:
            self._check_and_get(self.C[u], t)

    def _read(self, t: str, x: str) -> None:
        if self.last_writer.get(x) != t:
            self._check_and_get(self.W[x], t)
        self.R[t, x] = self.C[t].copy()

    def _write(self, t: str, x: str) -> None:
        if self.last_writer.get(x) != t:
            self._check_and_get(self.W[x], t)
        self._get_from_others(self.R, t, x)
        self.W[x] = self.C[t].copy()
        self.last_writer[x] = t

    def _post(self, t: str, h: str) -> None:
        self.P[t, h] = self.C[t].copy()

    def _take(self, t: str, h: str) -> None:
        self._get_from_others(self.P, t, h)

    def _get_from_others(self, clocks: dict[tuple[str, str], Clock], t: str, name: str) -> None:
        for (u, other), clock in clocks.items():
            if u != t and other == name:
                self._check_and_get(clock, t)

    def _begin(self, t: str, _region: str) -> None:
        self.depth[t] += 1
        if self.depth[t] == 1:
            self.C[t][t] += 1
            self.B[t] = self.C[t].copy()

    def _end(self, t: str, _region: str) -> None:
        if self.depth[t] == 1:
            for u in self.C:
                if u != t and self.B[t] <= self.C[u]:
                    self._check_and_get(self.C[t], u)
            self._pass_on(t, self.L)
            self._pass_on(t, self.W)
            self._pass_on(t, self.R)
            self._pass_on(t, self.P)
        self.depth[t] -= 1

    def _pass_on(self, t: str, clocks: dict[K, Clock]) -> None:
        for name, clock in clocks.items():
            if self.B[t] <= clock:
                clocks[name] = clock | self.C[t]
