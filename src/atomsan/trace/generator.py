"""Generates traces: small ones whose answer is known, for tests, and loads of any size, for benchmarks.

`generate(options)` gives an event source. The same options give the same events, on every platform and in every
version: users would notice a change (tests pin a digest for each kind). Traces stream: memory follows threads,
locks, names of variables and injected violations, never the number of events.

The kinds, and what is known of them (`_generate.pyx` explains why):

- `serializable`: no cycle, no violating transaction.
- `violating`: the same, except for `violations` transactions with exactly one violation each: `truth` lists
  them. Each is on a variable of its own, in addition to `variables`.
- `long-region`: serializable; T0 opens a region with the first event and never ends it. It forks the others
  and keeps writing variables that they read, so no checker can forget their transactions.
- `random`: any well-formed trace with all operations. Its answer is unknown.

A trace has exactly `events` events. Except in `random`, and for T0's region of `long-region`, every region is
ended, every lock released and every forked thread joined: nothing is begun that does not fit before the end, and
single accesses fill the rest. With very few events, only as many threads are forked as can also be joined.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np

from atomsan.errors import InputError, Place
from atomsan.trace._generate import MOST_REGION_LOCKS, VIOLATION_EVENTS, PlannedEngine, RandomEngine
from atomsan.trace._names import NameTable
from atomsan.trace.events import BATCH_EVENTS, MAX_SYMBOLS, Batch
from atomsan.trace.meta import TraceMeta
from atomsan.trace.symbols import Symbols

GeneratorKind = Literal["serializable", "violating", "long-region", "random"]

GENERATOR_KINDS: tuple[GeneratorKind, ...] = get_args(GeneratorKind)

TRUTH_SCHEMA = "atomsan-truth/1"

# If there are locks, every eighth step outside regions is a critical section: acquire, one to three accesses, release.
_SECTION_SHARE = 1 / 8
_SECTION_EVENTS = 4.0
_HANDOVER_SHARE = 1 / 16


@dataclass(frozen=True, kw_only=True)
class GeneratorOptions:
    """What to generate. Options that cannot be satisfied raise `InputError`."""

    kind: GeneratorKind = "serializable"
    seed: int = 0
    events: int = 1_000_000
    threads: int = 8
    locks: int = 16
    variables: int = 10_000
    regions: int = 25
    """The number of region names: m0, m1, ..."""
    handovers: int = 0
    """The number of hand-overs."""
    sites: int = 1000
    """The most program points. Each has one operation, if there are ten or more."""
    region_length: int = 8
    """Reads and writes in a region, on average; a region has one to twice as many."""
    region_locks: float = 1.0
    """Locks that a region takes, on average; at most 8."""
    nesting: int = 2
    """The deepest nesting of regions; 1 is no nesting."""
    read_share: float = 0.7
    """Share of the accesses that are reads; more where nothing may be written."""
    locality: float = 0.5
    """Share of the variables that only one thread uses, and of the accesses to them; more where no lock is held,
    because nothing else can be written then."""
    unary: float = 0.2
    """Share of the events that are outside regions."""
    burst: float = 4.0
    """Events of a thread in a row, on average; fewer where it has to wait."""
    violations: int = 0
    """`violating` only: the number of violations to inject."""
    violations_from: float = 0.0
    """`violating` only: the share of the trace before the first of them."""

    def __post_init__(self) -> None:
        _check(self)


def options_for(kind: str, **given: Any) -> GeneratorOptions:
    """The options of a kind, with its own defaults: `random` is small, `violating` has violations."""
    known = _known_kind(kind)
    return GeneratorOptions(kind=known, **(_DEFAULTS[known] | given))


_DEFAULTS: dict[GeneratorKind, dict[str, Any]] = {
    "serializable": {},
    "violating": {"violations": 10},
    "long-region": {},
    "random": {
        "events": 50,
        "threads": 4,
        "locks": 2,
        "variables": 4,
        "regions": 4,
        "handovers": 2,
        "sites": 100,
        "nesting": 3,
        "read_share": 0.5,
        "burst": 1.5,
    },
}

_RANGES: dict[str, tuple[int | float, int | float]] = {
    "seed": (0, 2**64 - 1),
    "events": (0, 2**50),
    "threads": (1, 1_000_000),
    "locks": (0, 100_000_000),
    "variables": (1, MAX_SYMBOLS),
    "regions": (1, 1_000_000),
    "handovers": (0, 1_000_000),
    "sites": (1, MAX_SYMBOLS),
    "region_length": (1, 100_000_000),
    "region_locks": (0.0, float(MOST_REGION_LOCKS)),
    "nesting": (1, 1000),
    "read_share": (0.0, 1.0),
    "locality": (0.0, 1.0),
    "unary": (0.0, 1.0),
    "burst": (1.0, 1e9),
    "violations": (0, MAX_SYMBOLS),
    "violations_from": (0.0, 1.0),
}


def _check(options: GeneratorOptions) -> None:
    _known_kind(options.kind)
    for name, (least, most) in _RANGES.items():
        value = getattr(options, name)
        option = name.replace("_", "-")
        whole = isinstance(least, int)
        if isinstance(value, bool) or not isinstance(value, int if whole else (int, float)):
            raise InputError(f"{option} must be a {'whole ' * whole}number, not {value!r}")
        if not least <= value <= most:
            raise InputError(f"{option} must be from {least} to {most}, not {value}")
    if options.kind == "violating":
        _check_violations(options)
    elif options.violations:
        raise InputError(f"violations are injected into a violating trace, not into a {options.kind} one")


def _check_violations(options: GeneratorOptions) -> None:
    if options.violations < 1:
        raise InputError("a violating trace needs violations: at least 1")
    if options.threads < 2:
        raise InputError("a violating trace needs at least 2 threads")
    if options.variables + options.violations > MAX_SYMBOLS:
        raise InputError(f"variables and violations are more than {MAX_SYMBOLS} together")
    needed = VIOLATION_EVENTS * options.violations + 2 * (options.threads - 1)
    if options.events < needed:
        raise InputError(
            f"{options.violations} violations among {options.threads} threads need at least {needed} events, "
            f"not {options.events}"
        )


def _known_kind(kind: str) -> GeneratorKind:
    for known in GENERATOR_KINDS:
        if kind == known:
            return known
    raise InputError(f"there is no kind {kind!r} of generated trace: it is one of {', '.join(GENERATOR_KINDS)}")


# ---- presets


@dataclass(frozen=True)
class Benchmark:
    """A row of table 1 of aerodrome-2020."""

    events: float
    threads: int
    locks: int
    variables: float
    transactions: float
    atomic: bool


# The paper spells the first one `avroa`.
BENCHMARKS: dict[str, Benchmark] = {
    "avrora": Benchmark(2.4e9, 7, 7, 1079e3, 498e6, atomic=False),
    "elevator": Benchmark(280e3, 5, 50, 725, 22.6e3, atomic=True),
    "hedc": Benchmark(9.8e3, 7, 13, 1694, 84, atomic=False),
    "luindex": Benchmark(570e6, 3, 65, 2.5e6, 86e6, atomic=False),
    "lusearch": Benchmark(2.0e9, 14, 772, 38e6, 306e6, atomic=False),
    "moldyn": Benchmark(1.7e9, 4, 1, 121e3, 1.4e6, atomic=False),
    "montecarlo": Benchmark(494e6, 4, 1, 30.5e6, 812e3, atomic=False),
    "philo": Benchmark(613, 6, 1, 24, 0, atomic=True),
    "pmd": Benchmark(367e6, 13, 223, 12.9e6, 81e6, atomic=False),
    "raytracer": Benchmark(2.8e9, 4, 1, 12.6e6, 277e6, atomic=True),
    "sor": Benchmark(608e6, 4, 2, 1e6, 637e3, atomic=False),
    "sunflow": Benchmark(16.8e6, 16, 9, 1.2e6, 2.5e6, atomic=False),
    "tsp": Benchmark(312e6, 9, 2, 181e6, 9, atomic=False),
    "xalan": Benchmark(1.0e9, 13, 8624, 31e6, 214e6, atomic=False),
}

# However small the scale, a preset has at least this many events, or all of its benchmark.
_LEAST_PRESET_EVENTS = 1000
# Where a benchmark has few transactions, its other events are outside regions, not in very long ones.
_LONGEST_PRESET_REGION = 30
_PRESET_REGION_LOCKS = 0.3
# "On most of these benchmarks, the violations of atomicity are discovered late in the trace" (section 5.3).
_LATE = 0.9


def preset(name: str, *, scale: float = 0.001, seed: int = 0) -> GeneratorOptions:
    """A trace in the proportions of a benchmark of aerodrome-2020, table 1.

    `scale` multiplies events, variables and transactions; threads and locks stay, with at most one lock for four
    events. The number of transactions is right on average. A benchmark that is not atomic has one violation, in
    the last tenth of the trace.
    """
    row = BENCHMARKS.get(name)
    if row is None:
        raise InputError(f"there is no preset {name!r}: it is one of {', '.join(BENCHMARKS)}")
    if not 0 < scale <= 1000:
        raise InputError(f"scale must be more than 0 and at most 1000, not {scale}")
    events = max(round(row.events * scale), min(round(row.events), _LEAST_PRESET_EVENTS))
    scale = events / row.events
    locks = min(row.locks, events // 4)
    length, unary = _region_shape(row, locks)
    return GeneratorOptions(
        kind="serializable" if row.atomic else "violating",
        seed=seed,
        events=events,
        threads=row.threads,
        locks=locks,
        variables=min(max(round(row.variables * scale), 1), MAX_SYMBOLS - 1),
        region_length=length,
        region_locks=_PRESET_REGION_LOCKS,
        nesting=1,
        unary=unary,
        violations=0 if row.atomic else 1,
        violations_from=0.0 if row.atomic else _LATE,
    )


def _region_shape(row: Benchmark, locks: int) -> tuple[int, float]:
    """The length of regions, and the share of events outside, that give the row's share of transactions."""
    if row.transactions == 0:
        return 1, 1.0
    for_each = row.events / row.transactions
    around = 2 + 2 * _mean_locks(_PRESET_REGION_LOCKS, locks)
    length = min(max(round(0.8 * for_each - around), 1), _LONGEST_PRESET_REGION)
    return length, 1 - min((around + length) / for_each, 1.0)


# ---- generating


def generate(options: GeneratorOptions) -> GeneratedSource:
    """The event source of these options. Events are generated when its batches are taken."""
    return GeneratedSource(options)


class GeneratedSource:
    """An `EventSource` whose batches can be taken any number of times."""

    def __init__(self, options: GeneratorOptions) -> None:
        self.options = options
        self.meta = TraceMeta(
            source=f"generated {options.kind} trace, seed {options.seed}",
            format="generated",
            events=options.events,
        )
        self.symbols = _symbols(options)
        self._injected: list[list[int]] | None = None

    def batches(self) -> Iterator[Batch]:
        engine = _engine(self.options)
        for first in range(0, self.options.events, BATCH_EVENTS):
            room = min(BATCH_EVENTS, self.options.events - first)
            columns = (
                np.empty(room, np.uint32),
                np.empty(room, np.uint8),
                np.empty(room, np.uint32),
                np.empty(room, np.uint32),
            )
            engine.fill(*columns)
            yield Batch.frozen(first, *columns)
        self._injected = engine.injected.tolist() if isinstance(engine, PlannedEngine) else []

    def place(self, event: int) -> Place:
        return Place(self.meta.source, None, event)

    @property
    def truth(self) -> dict[str, Any]:
        """The known answer, as JSON. Available when all batches were taken.

        `injected` has the events of each violation: the region's read, the other thread's write, and the region's
        write, which closes the cycle. The unknown answers of a `random` trace are None.
        """
        if self._injected is None:
            raise RuntimeError("the truth is available only after all batches were taken")
        known = self.options.kind != "random"
        names = self.symbols
        injected = [
            {
                "thread": names.threads[thread],
                "transaction": transaction,
                "region": names.regions[region],
                "variable": names.locations[variable],
                "events": events,
            }
            for thread, transaction, region, variable, *events in self._injected
        ]
        return {
            "schema": TRUTH_SCHEMA,
            "kind": self.options.kind,
            "seed": self.options.seed,
            "serializable": not injected if known else None,
            "violations": len(injected) if known else None,
            "transactions": [[one["thread"], one["transaction"]] for one in injected] if known else None,
            "injected": injected,
        }


def _symbols(options: GeneratorOptions) -> Symbols:
    symbols = Symbols()
    _add_names(symbols.threads.names, "T", options.threads)
    _add_names(symbols.locks.names, "L", options.locks)
    _add_names(symbols.locations.names, "V", options.variables + options.violations)
    _add_names(symbols.regions.names, "m", options.regions)
    _add_names(symbols.handovers.names, "h", options.handovers)
    symbols.sites.names.number_from(0, options.sites)
    return symbols


def _add_names(names: NameTable, letter: str, count: int) -> None:
    """Add the names `letter`0, `letter`1, ..., up to a million of the same length at a time."""
    start = 0
    while start < count:
        digits = len(str(start))
        stop = min(count, 10**digits, start + (1 << 20))
        numbers = np.arange(start, stop, dtype=np.uint64)
        spelled = np.empty((stop - start, digits + 1), np.uint8)
        spelled[:, 0] = ord(letter)
        for column in range(digits, 0, -1):
            spelled[:, column] = ord("0") + numbers % 10
            numbers //= 10
        names.extend(np.arange(stop - start + 1, dtype=np.uint64) * np.uint64(digits + 1), spelled.tobytes())
        start = stop


def _engine(options: GeneratorOptions) -> PlannedEngine | RandomEngine:
    if options.kind == "random":
        return RandomEngine(
            seed=options.seed,
            events=options.events,
            threads=options.threads,
            locks=options.locks,
            variables=options.variables,
            regions=options.regions,
            handovers=options.handovers,
            sites=options.sites,
            nesting=options.nesting,
            read_share=_share(options.read_share),
            longest_turn=round(2 * options.burst - 1),
        )
    locked, own, shared = _divide_variables(options)
    return PlannedEngine(
        seed=options.seed,
        events=options.events,
        threads=options.threads,
        locks=options.locks,
        locked_variables=locked,
        own_variables=own,
        shared_variables=shared,
        regions=options.regions,
        handovers=options.handovers,
        sites=options.sites,
        region_length=options.region_length,
        nesting=options.nesting,
        read_share=_share(options.read_share),
        locality=_share(options.locality),
        lock_share=_share(_one_more_lock(options.region_locks)),
        region_share=_share(_region_share(options)),
        section_share=_share(_SECTION_SHARE if options.locks else 0.0),
        handover_share=_share(_HANDOVER_SHARE),
        longest_turn=round(2 * options.burst - 1),
        violations=options.violations,
        violations_first=int(options.violations_from * options.events),
        long_region=options.kind == "long-region",
    )


def _share(share: float) -> int:
    """A share in the engines' unit, 2**-32."""
    return int(share * 2**32)


def _divide_variables(options: GeneratorOptions) -> tuple[int, int, int]:
    """The numbers of variables under a lock, of one thread, and shared by all (at least one, for reads)."""
    own = min(int(options.variables * options.locality), options.variables - 1)
    rest = options.variables - own
    if options.locks == 0:
        locked = 0
    elif options.kind == "long-region":
        locked = rest // 2
    else:
        locked = 3 * rest // 4
    return locked, own, rest - locked


def _one_more_lock(mean: float) -> float:
    """The probability of one more lock that gives `mean` locks on average."""
    return mean / (1 + mean)


def _mean_locks(mean: float, locks: int) -> float:
    """The average with at most `locks` locks."""
    chance = _one_more_lock(mean)
    return sum(chance**count for count in range(1, min(MOST_REGION_LOCKS, locks) + 1))


def _region_share(options: GeneratorOptions) -> float:
    """How often a thread that can choose begins a region, so that the share `unary` of all events is outside."""
    locks = _mean_locks(options.region_locks, options.locks)
    region = 2 + options.region_length + (options.nesting - 1) + 2 * locks
    section = _SECTION_SHARE if options.locks else 0.0
    outside = (1 - section) + section * _SECTION_EVENTS
    inside = (1 - options.unary) * outside
    return inside / (inside + options.unary * region)
