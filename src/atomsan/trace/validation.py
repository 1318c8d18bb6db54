"""Well-formedness, for people: the rules in words, refusal at the first broken one, or repair with a report.

The checking itself is `_validate.pyx`. Every reader's batches pass through `Checked`, so nothing behind it ever sees a
malformed trace.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from atomsan.errors import InputError, Place, shown
from atomsan.trace._validate import Validator
from atomsan.trace.event_map import EventMap
from atomsan.trace.events import Batch
from atomsan.trace.worker import Worker

if TYPE_CHECKING:
    from atomsan.trace.symbols import SymbolTable
    from atomsan.types import EventSource


class Rule(NamedTuple):
    """How to say that a rule is broken, and what `--lenient` does about it."""

    message: str
    repair: str | None


# Indexed by the numbers of _validate.pyx. A rule without a repair is damage: no leniency can help.
RULES: tuple[Rule, ...] = (
    Rule("", None),
    Rule("{thread} releases {target}, which nobody holds", "dropped a release of a lock that nobody held"),
    Rule(
        "{thread} releases {target}, which {holder} has held since {since}",
        "dropped a release of a lock that another thread held",
    ),
    Rule(
        "{thread} acquires {target}, which {holder} has held since {since}",
        "dropped an acquire of a lock that another thread held",
    ),
    Rule("{thread} ends {target}, but has no region open", "dropped an end without a begin"),
    Rule(
        "{thread} ends {target}, but is inside {region} since {since}",
        "closed the regions inside one that ended, or dropped an end that matched none",
    ),
    Rule("{thread} forks itself", "dropped a fork of the thread itself"),
    Rule("{thread} forks {target}, which was already forked at {since}", "dropped a second fork"),
    Rule(
        "{thread} forks {target}, whose first event came before, at {since}",
        "dropped a fork of a thread that was already running",
    ),
    Rule(
        "{thread} forks {target}, which was already joined at {since}",
        "dropped a fork of a thread that was already joined",
    ),
    Rule("{thread} joins itself", "dropped a join of the thread itself"),
    Rule("{thread} goes on after it was joined at {since}", "dropped an event of a thread that was already joined"),
    Rule("operation {op} does not exist", None),
    Rule("thread number {thread_number} is not in the table of threads", None),
    Rule("{word} number {target_number} is not in the table of {word}s", None),
    Rule("site number {site_number} is not in the table of sites", None),
)

_WORDS = ("location", "lock", "thread", "region", "hand-over")


@dataclass
class Repairs:
    """What leniency did to a trace: how often for each reason, and where first."""

    counts: Counter[str] = field(default_factory=Counter)
    first: dict[str, str] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.counts)

    def lines(self) -> list[str]:
        return [
            f"{what}, {count} time{'s' * (count > 1)} (first: {self.first[what]})"
            for what, count in self.counts.items()
        ]


class Checked:
    """An event source whose batches are well-formed: it refuses the first broken rule, or repairs if lenient."""

    def __init__(self, source: EventSource, *, lenient: bool = False) -> None:
        self.source = source
        self.symbols = source.symbols
        self.meta = source.meta
        self.lenient = lenient
        self.repairs = Repairs()
        self._map = EventMap()

    def batches(self) -> Iterator[Batch]:
        return self._repaired_batches() if self.lenient else self._checked_batches()

    def _checked_batches(self) -> Iterator[Batch]:
        """Each batch of the source once it was checked: the large ones while the source makes the next."""
        validator = Validator()
        batches = iter(self.source.batches())
        unreadable: InputError | None = None
        before: Batch | None = None
        with Worker(validator.check, "atomsan-validate") as worker:
            while True:
                try:
                    batch = next(batches, None)
                except InputError as error:
                    # The batch before it comes first: it may break a rule on an earlier line.
                    unreadable, batch = error, None
                if before is not None:
                    self._refuse(validator, worker.result(), before)
                    yield before
                if batch is None:
                    break
                validator.grow(self.symbols)
                worker.start(batch, len(batch))
                before = batch
        if unreadable is not None:
            raise unreadable

    def _refuse(self, validator: Validator, rule: int, batch: Batch) -> None:
        if rule:
            raise self._error(validator, rule, batch)

    def _repaired_batches(self) -> Iterator[Batch]:
        validator = Validator()
        given = 0
        for batch in self.source.batches():
            validator.grow(self.symbols)
            repaired = self._repaired(validator, batch, given)
            given += len(repaired)
            if len(repaired):
                yield repaired

    def place(self, event: int) -> Place:
        return self.source.place(self._map.origin(event))

    def fraction(self) -> float | None:
        """How much of the input was read so far, from 0 to 1, where that can be told."""
        fraction: float | None = self.source.fraction() if hasattr(self.source, "fraction") else None
        return fraction

    def close(self) -> None:
        """Give back what the source holds open. It does so by itself when its last batch has come."""
        if hasattr(self.source, "close"):
            self.source.close()

    def __enter__(self) -> Checked:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _repaired(self, validator: Validator, batch: Batch, given: int) -> Batch:
        def report(rule: int) -> None:
            what = RULES[rule].repair
            if what is None:
                raise self._error(validator, rule, batch)
            if what not in self.repairs.first:
                self.repairs.first[what] = str(self._error(validator, rule, batch))
            self.repairs.counts[what] += 1

        thread, op, target, site, index = validator.repair(batch, report)
        for column in (thread, op, target, site):
            column.flags.writeable = False
        self._map.note(given, batch.first, index)
        return Batch(given, thread, op, target, site)

    def _error(self, validator: Validator, rule: int, batch: Batch) -> InputError:
        """The broken rule in words. Looked up in the tables only here: it happens once, or rarely."""
        at = validator.event - batch.first
        thread, op, target, site = (int(column[at]) for column in (batch.thread, batch.op, batch.target, batch.site))
        place = self.source.place(validator.event)
        names = {
            "op": op,
            "thread_number": thread,
            "target_number": target,
            "site_number": site,
            "word": _WORDS[op // 2] if op < 10 else "",
            "since": self.source.place(validator.since)._replace(source=None),
        }
        if RULES[rule].repair is not None:
            names |= {
                "thread": _name(self.symbols.threads, thread),
                "target": self._named(op, target),
                "holder": _name(self.symbols.threads, validator.other),
                "region": _name(self.symbols.regions, validator.other),
            }
        return InputError(RULES[rule].message.format(**names), **place._asdict())

    def _named(self, op: int, target: int) -> str:
        name = _name(self.symbols.targets(op), target, "the region")
        return f"lock {name}" if _WORDS[op // 2] == "lock" else name


def _name(table: SymbolTable, number: int, nameless: str = "a region") -> str:
    return (shown(table[number].encode()) or nameless) if number < len(table) else "?"
