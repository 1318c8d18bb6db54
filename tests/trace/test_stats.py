"""The counts of `atomsan stats`, compared with counts in plain Python."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable

import pytest
from hypothesis import given, settings

import atomsan
from atomsan.trace.events import Op
from atomsan.trace.stats import Stats, StatsCounter, count
from oracles.model import Step
from strategies import traces


def stats_of(notation: str) -> Stats:
    return count(atomsan.parse(notation))


def expected(events: Iterable[atomsan.trace.events.Event]) -> dict[str, object]:
    """The counts by their definitions."""
    ops: Counter[Op] = Counter()
    used: dict[str, set[str]] = defaultdict(set)
    touched: dict[str, set[str]] = defaultdict(set)
    depth: Counter[str] = Counter()
    held: Counter[str] = Counter()
    inside: dict[str, int] = {}
    transactions = unary = 0
    longest: list[int] = []
    for thread, op, target, _ in events:
        ops[op] += 1
        used["threads"].add(thread)
        used[op.target_kind].add(target)
        if op.target_kind == "locations":
            touched[target].add(thread)
        held[target] += (op is Op.ACQUIRE) - (op is Op.RELEASE) if op.target_kind == "locks" else 0
        inner = (op is Op.ACQUIRE and held[target] > 1) or (op is Op.RELEASE and held[target] > 0)
        if op is Op.BEGIN and depth[thread] == 0:
            transactions += 1
            inside[thread] = -1
        if op is Op.BEGIN:
            depth[thread] += 1
        if op is Op.END:
            depth[thread] -= 1
            if depth[thread] == 0:
                longest.append(inside.pop(thread))
        if thread in inside:
            inside[thread] += 1
        elif op not in (Op.BEGIN, Op.END) and not inner:
            unary += 1
    return {
        "by_op": {op: ops[op] for op in Op},
        "threads": len(used["threads"]),
        "locks": len(used["locks"]),
        "variables": len(used["locations"]),
        "shared_variables": sum(len(threads) > 1 for threads in touched.values()),
        "regions": len(used["regions"]),
        "handovers": len(used["handovers"]),
        "transactions": transactions,
        "unary_transactions": unary,
        "longest": max([*longest, *inside.values()], default=None),
    }


def found(stats: Stats) -> dict[str, object]:
    return {
        "by_op": stats.by_op,
        "threads": stats.threads,
        "locks": stats.locks,
        "variables": stats.locations,
        "shared_variables": stats.shared_locations,
        "regions": stats.regions,
        "handovers": stats.handovers,
        "transactions": stats.transactions,
        "unary_transactions": stats.unary_transactions,
        "longest": stats.longest_region.events if stats.longest_region else None,
    }


@settings(max_examples=300)
@given(traces())
def test_counts_of_any_trace_are_those_of_plain_python(steps: list[Step]) -> None:
    builder = atomsan.TraceBuilder()
    for step in steps:
        builder.add(step.thread, step.op, step.target)
    trace = builder.build()
    assert found(count(trace)) == expected(trace)


def test_batch_size_does_not_change_the_counts() -> None:
    from atomsan.trace.generator import generate, options_for

    source = generate(options_for("random", events=3000, threads=6))
    (whole,) = source.batches()
    counter = StatsCounter(source)
    for start in range(0, 3000, 7):
        counter.add(whole[start : start + 7])
    assert counter.result() == count(source)


def test_symbols_of_later_batches_are_counted() -> None:
    lines = [f"T{i % 40}|{'rw'[i % 2]}(V{i})|1\nT{i % 40}|r(V{i // 2})|2" for i in range(500)]
    trace = atomsan.parse("\n".join(lines), format="std")
    assert found(count(trace)) == expected(trace)


@pytest.mark.parametrize(
    ("notation", "length", "where"),
    [
        ("T1:begin(m) T1:end(m)", 0, ("m", "T1", 0, True)),
        ("T1:begin(m) T1:r(x) T1:end(m) T2:begin(n) T2:r(x) T2:w(x) T2:end(n)", 2, ("n", "T2", 3, True)),
        ("T1:begin(m) T1:begin(n) T1:r(x) T1:end(n) T1:end(m)", 3, ("m", "T1", 0, True)),
        ("T1:begin(m) T2:r(x) T2:r(x) T1:r(x)", 1, ("m", "T1", 0, False)),
        ("T1:r(x) T1:begin(m) T1:end(m) T2:begin(m) T2:r(x)", 1, ("m", "T2", 3, False)),
        ("T1:begin T1:r(x) T1:end", 1, ("", "T1", 0, True)),
    ],
)
def test_longest_region(notation: str, length: int, where: tuple[object, ...]) -> None:
    longest = stats_of(notation).longest_region
    assert longest is not None
    assert longest.events == length
    assert (longest.region, longest.thread, longest.first_event, longest.ended) == where


def test_place_and_site_of_the_longest_region() -> None:
    trace = atomsan.parse("T1|r(x)|-\n\nT1|begin(m)|bank.py:12\nT1|r(x)|-\n", format="std")
    longest = count(trace).longest_region
    assert longest is not None
    assert (longest.place, longest.site) == ("the text:3", "bank.py:12")


def test_counts_of_an_empty_trace() -> None:
    stats = stats_of("")
    assert (stats.events, stats.threads, stats.longest_region) == (0, 0, None)


def test_forked_thread_without_events_is_counted() -> None:
    assert stats_of("T1:fork(T2) T1:join(T2)").threads == 2


def test_unused_symbols_are_not_counted() -> None:
    trace = atomsan.parse("T1:r(x) T2:w(y) T2:acq(l)")
    stats = count(trace[:1])
    assert (stats.threads, stats.locations, stats.locks) == (1, 1, 0)


def test_events_per_second() -> None:
    trace = atomsan.parse("T1:r(x) T1:r(x) T1:r(x)")
    assert count(trace).events_per_second is None
    trace.meta.seconds = 0.5
    assert count(trace).events_per_second == 6


def test_stopped_count_is_incomplete() -> None:
    trace = atomsan.parse("T1:r(x)")
    counter = StatsCounter(trace)
    counter.stop()
    assert counter.result().complete is False
    assert count(trace).complete is True


def test_longest_region_of_a_recorded_function_is_where_it_is_defined() -> None:
    """Its begin has the site of the call, and its end that of the definition."""
    trace = atomsan.parse("T1:begin(m)@5 T1:r(x)@7 T1:end(m)@3 T1:begin(n)@8 T1:end(n)@9", format="notation")
    regions = trace.symbols.regions
    sites = []
    for origin, function in ((None, None), ("loop", 0), ("function", 0), ("annotated", 0), ("annotated", None)):
        for field, value in (("origin", origin), ("function", function)):
            regions.set(0, field, value)
        longest = count(trace).longest_region
        assert longest is not None
        sites.append(longest.site)
    assert sites == ["5", "5", "3", "3", "5"]
