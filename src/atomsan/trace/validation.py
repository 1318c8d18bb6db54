"""Validates traces: refuses the first event that breaks a rule of well-formedness, or repairs it and reports that.

`_validate.pyx` checks the events; the rules in words are here. The batches of every reader pass through
`ValidatedSource`, so no later stage sees a malformed trace.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from atomsan.errors import InputError, shown
from atomsan.trace._validate import Validator
from atomsan.trace.rewritten_source import RewrittenSource
from atomsan.trace.worker import Worker

if TYPE_CHECKING:
    from atomsan.trace.events import Batch
    from atomsan.trace.symbols import SymbolTable
    from atomsan.types import EventSource


class Rule(NamedTuple):
    """The message when a rule is broken, and how `--lenient` repairs that."""

    message: str
    repair: str | None


# Indexed by the rule numbers of _validate.pyx. A rule without a repair means a damaged trace: it is always refused.
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

# by op // 2
_TARGET_WORDS = ("location", "lock", "thread", "region", "hand-over")


@dataclass
class Repairs:
    """The repairs made to a trace: by kind, how often and where first."""

    counts: Counter[str] = field(default_factory=Counter)
    first: dict[str, str] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.counts)

    def lines(self) -> list[str]:
        return [
            f"{what}, {count} time{'s' * (count > 1)} (first: {self.first[what]})"
            for what, count in self.counts.items()
        ]


class ValidatedSource(RewrittenSource):
    """The well-formed batches of a source: the first broken rule raises `InputError`, or is repaired if lenient."""

    def __init__(self, source: EventSource, *, lenient: bool = False) -> None:
        super().__init__(source)
        self.lenient = lenient
        self.repairs = Repairs()

    def batches(self) -> Iterator[Batch]:
        return self._repaired_batches() if self.lenient else self._validated_batches()

    def _validated_batches(self) -> Iterator[Batch]:
        """Each batch after its validation, which overlaps with reading the next one if the batch is large."""
        validator = Validator()
        batches = iter(self.source.batches())
        unreadable: InputError | None = None
        before: Batch | None = None
        with Worker(validator.check, "atomsan-validate") as worker:
            while True:
                try:
                    batch = next(batches, None)
                except InputError as error:
                    # The batch before comes first: it may break a rule on an earlier line.
                    unreadable, batch = error, None
                if before is not None:
                    if rule := worker.result():
                        raise self._error(validator, rule, before)
                    yield before
                if batch is None:
                    break
                validator.grow(self.symbols)
                worker.start(batch, len(batch))
                before = batch
        if unreadable is not None:
            raise unreadable

    def _repaired_batches(self) -> Iterator[Batch]:
        validator = Validator()
        given = 0
        for batch in self.source.batches():
            validator.grow(self.symbols)
            repaired = self._repair(validator, batch, given)
            given += len(repaired)
            if len(repaired):
                yield repaired

    def __enter__(self) -> ValidatedSource:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _repair(self, validator: Validator, batch: Batch, given: int) -> Batch:
        def report(rule: int) -> None:
            what = RULES[rule].repair
            if what is None:
                raise self._error(validator, rule, batch)
            if what not in self.repairs.first:
                self.repairs.first[what] = str(self._error(validator, rule, batch))
            self.repairs.counts[what] += 1

        return self._rewritten_batch(given, batch, validator.repair(batch, report))

    def _error(self, validator: Validator, rule: int, batch: Batch) -> InputError:
        """The broken rule as an error, with names looked up in the symbol tables."""
        at = validator.event - batch.first
        thread, op, target, site = (int(column[at]) for column in (batch.thread, batch.op, batch.target, batch.site))
        place = self.source.place(validator.event)
        names = {
            "op": op,
            "thread_number": thread,
            "target_number": target,
            "site_number": site,
            "word": _TARGET_WORDS[op // 2] if op < 10 else "",
            "since": self.source.place(validator.since)._replace(source=None),
        }
        if RULES[rule].repair is not None:
            names |= {
                "thread": _symbol_name(self.symbols.threads, thread),
                "target": self._target_name(op, target),
                "holder": _symbol_name(self.symbols.threads, validator.other),
                "region": _symbol_name(self.symbols.regions, validator.other),
            }
        return InputError(RULES[rule].message.format(**names), **place._asdict())

    def _target_name(self, op: int, target: int) -> str:
        name = _symbol_name(self.symbols.targets(op), target, "the region")
        return f"lock {name}" if _TARGET_WORDS[op // 2] == "lock" else name


def _symbol_name(table: SymbolTable, number: int, nameless: str = "a region") -> str:
    return (shown(table[number].encode()) or nameless) if number < len(table) else "?"
