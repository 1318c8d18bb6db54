"""The data of a finding: all occurrences of one violation, grouped by their place in the source."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from operator import add
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from atomsan.findings.reasons import LEVELS, UNDECIDED, Level
from atomsan.trace.events import NO_SITE

if TYPE_CHECKING:
    from atomsan.checkers.results import Status
    from atomsan.findings.repair import Repair
    from atomsan.predictors.replay import Change, Parting

Kind = Literal["atomicity", "cycle", "race", "deadlock"]

# The weakest first: the same bug seen twice is one finding with the strongest status.
STRENGTH: tuple[Status, ...] = ("predicted", "observed", "confirmed")


@dataclass(frozen=True)
class SiteShown:
    """Where in the source. A site that the trace only has a name for has that name as its text."""

    file: str | None
    line: int | None
    column: int | None
    function: str | None
    text: str | None

    def __str__(self) -> str:
        if self.file is None:
            return self.text or "?"
        return ":".join(str(part) for part in (self.file, self.line) if part is not None)


class Hold(NamedTuple):
    """A lock that is held, and the event of its outermost acquire: two holds of one lock are told apart by it."""

    lock: str
    since: int


class InSet(NamedTuple):
    """An atomic set that a location is in, and the classes whose methods are meant as one step on it."""

    name: str
    classes: frozenset[str]


@dataclass(frozen=True)
class ShownStep:
    """One event of a witness, with names. `edge` says why it comes before the step that has the event `to`."""

    thread: str
    transaction: int | None
    """Its number in the thread, None outside regions."""
    region: str | None
    event: int
    place: str
    """Where the event stands in the trace: `t.std:12`."""
    op: str
    location: str
    path: str
    """The location as it is in every run: its class and field, without telling objects and elements apart."""
    site: SiteShown | None
    to: int
    edge: str
    target: int
    """The number of the location in its table: two objects' fields may be shown by one name."""
    number: int
    """The event as the checkers numbered it: after repairs, and under the specification."""
    field: str | None = None
    """Of a location with structure: which field of its object."""
    object: str | None = None
    """Of a location with structure: which object it is a field or an element of."""
    owner_object: str | None = None
    """The object of whose attribute that is the value, where it is a container."""
    sets: tuple[InSet, ...] = ()
    """The atomic sets that the location is in, where there are sets that span objects."""
    operation: str | None = None
    """The method or function that the site calls, where that is what reads or writes: `append`."""
    holds: tuple[Hold, ...] | None = None
    """What its thread holds, in the order of the acquires, where that is known. An acquire and a release are under
    their own lock."""
    unit: int | None = None
    """The unit of work that it is in, where these make the cycle: a transaction can have several."""
    at: int = NO_SITE
    """The number of its site."""
    normal: str | None = None
    """The statement of its site, the same for every formatting."""
    position: int | None = None
    """Its place in a predicted interleaving."""

    @property
    def when(self) -> int:
        """By what the steps of a witness are ordered in time: their events, or their places where it is predicted."""
        return self.event if self.position is None else self.position

    @property
    def locks(self) -> tuple[str, ...] | None:
        """The names of the locks held, where that is known."""
        return None if self.holds is None else tuple(hold.lock for hold in self.holds)

    @property
    def data(self) -> str | None:
        """Whose data it is: that of the object itself, and a container's data is that of the object that holds it."""
        return self.owner_object or self.object

    def shares(self, other: ShownStep) -> list[InSet]:
        """The atomic sets that both are in, as far as that is not clear from whose data they are."""
        return [one for one in self.sets if one in other.sets]

    @property
    def where(self) -> str:
        return str(self.site) if self.site else self.place

    @property
    def owner(self) -> tuple[str, int | None, int | None]:
        """Its transaction: an event outside regions is one of its own. Or its unit of work, in a cycle of these."""
        if self.unit is not None:
            return (self.thread, None, self.unit)
        return (self.thread, self.transaction, None if self.transaction else self.event)

    def to_dict(self) -> dict[str, Any]:
        return {
            "thread": self.thread,
            "transaction": self.transaction,
            "region": self.region,
            "event": self.event,
            "op": self.op,
            "location": self.location,
            "site": dict(vars(self.site)) if self.site else None,
            "locks": None if self.locks is None else list(self.locks),
            "edge": {"to": self.to, "kind": self.edge},
        }


class OrderedStep(NamedTuple):
    """One step of a predicted interleaving, with names."""

    position: int
    """Its place in the whole interleaving, from 1: where some are missing, steps are left out."""
    thread: str
    transaction: int | None
    """Its number in the thread; None outside regions, and for what is done with locks."""
    region: str | None
    event: int
    op: str
    location: str
    site: SiteShown | None
    number: int
    """The event as the checkers numbered it."""

    def to_dict(self) -> dict[str, Any]:
        content = self._asdict() | {"site": dict(vars(self.site)) if self.site else None}
        del content["number"]
        return content


@dataclass(frozen=True, kw_only=True)
class Finding:
    """`docs/cli.md` has the JSON. `region` is that of the transaction to blame; in a cycle, that of its first one."""

    id: str
    status: Status
    kind: Kind
    pattern: str
    region: str
    count: int
    first_event: int | None
    first_place: str = ""
    witness: tuple[ShownStep, ...] = ()
    interleaving: tuple[OrderedStep, ...] | None = None
    """Of a prediction: the steps of both units, in an order in which it happens."""
    left_out: int = 0
    """How many steps of the interleaving are not among these, because there are so many."""
    span: tuple[int, int] | None = None
    """Which steps of the witness leave the transaction to blame and come back to it."""
    explanation: tuple[str, ...] = ()
    hint: str | None = None
    repair: Repair | None = None
    """What the hint says, as data, where the trace knows the statements."""
    replay: str | None = None
    found_by: tuple[str, ...] = ()
    """Which methods found it, where a checker has several: `projection`, `pattern 11`."""
    level: Level = "finding"
    why: str | None = None
    """Of a suspect or a note: why it is no finding."""
    group: str = ""
    """The id of its root cause, which several findings can share."""
    runs: int = 1
    """In how many runs it was seen."""
    changes: tuple[Change, ...] = ()
    """Of a prediction: the reads that see another write than in the run, after which a thread may go another way."""
    parting: Parting | None = None
    """Of a prediction in which a thread does what another one did: the read that made it go another way in the run."""

    @property
    def is_undecided(self) -> bool:
        """Whether it is a suspect only because the check was stopped."""
        return self.why == UNDECIDED.why

    def to_dict(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "group": self.group or self.id,
            "status": self.status,
            "kind": self.kind,
            "pattern": self.pattern,
            "region": self.region,
            "count": self.count,
            "runs": self.runs,
            "first_event": self.first_event,
            "witness": [step.to_dict() for step in self.witness],
            "interleaving": None if self.interleaving is None else [step.to_dict() for step in self.interleaving],
            **({"interleaving_left_out": self.left_out} if self.left_out else {}),
            "explanation": list(self.explanation),
            "hint": self.hint,
            "schedule": None,  # nothing can be forced to happen again yet
            "replay": self.replay,
            "outcome": None,
            **({"found_by": list(self.found_by)} if self.found_by else {}),
            **({} if self.why is None else {"why": self.why}),
            **({"repair": self.repair.to_dict()} if self.repair else {}),
        }


def fingerprint(region: str, locations: Sequence[str], places: Sequence[str]) -> str:
    """The id of a finding: the same for the same bug, in any run, by any checker.

    `locations` are classes and fields, or names; `places` the source text of the local accesses, or their sites.
    """
    text = "\0".join((region, "", *locations, "", *places))
    return hashlib.blake2b(text.encode(errors="surrogatepass"), digest_size=6).hexdigest()


Sum = Callable[[int, int], int]


def simplicity(finding: Finding) -> tuple[int, bool, int, int, int]:
    """Less is better to show: the surest level first, then what happened, the fewest threads and the fewest steps."""
    steps = finding.witness
    threads = {step.thread for step in steps}
    sureness = len(STRENGTH) - STRENGTH.index(finding.status)
    return LEVELS.index(finding.level), not steps, sureness, len(threads), len({step.event for step in steps})


def merge_findings(findings: Iterable[Finding], counts: Sum = add, runs: Sum = max) -> list[Finding]:
    """One finding for each id: the simplest of the surest level, with the counts of all and the strongest status.

    Counts are added up, unless they are of the same occurrences, seen by several: then `max` does it. Runs are added up
    where the findings are of different runs.
    """
    found: dict[str, Finding] = {}
    for finding in findings:
        other = found.get(finding.id)
        found[finding.id] = finding if other is None else _merge_two(other, finding, counts, runs)
    return list(found.values())


def _merge_two(first: Finding, second: Finding, counts: Sum, runs: Sum) -> Finding:
    return replace(
        min(first, second, key=simplicity),
        count=counts(first.count, second.count),
        runs=runs(first.runs, second.runs),
        status=max(first.status, second.status, key=STRENGTH.index),
        found_by=tuple(dict.fromkeys((*first.found_by, *second.found_by))),
    )
