"""The region stage: dropping and splitting regions, and the places of the events that are left."""

from __future__ import annotations

import random

import pytest

import atomsan
from atomsan import Trace, TraceBuilder
from atomsan.source.spec import Specification
from atomsan.trace.events import Batch, Event, Op
from atomsan.trace.regions import AtomicRegionSource
from strategies import random_steps


class Cut:
    """A trace in batches of a few events."""

    def __init__(self, trace: Trace, size: int) -> None:
        self._trace, self._size = trace, size
        self.symbols, self.meta, self.place = trace.symbols, trace.meta, trace.place

    def batches(self):  # type: ignore[no-untyped-def]
        (whole,) = self._trace.batches() if len(self._trace) else (None,)
        for start in range(0, len(self._trace), self._size):
            yield whole[start : start + self._size]


def notation(source: AtomicRegionSource) -> str:
    return Trace.from_source(source).notation()


def excluding(*globs: str) -> Specification:
    return Specification(not_atomic=globs)


@pytest.mark.parametrize("size", [1, 2, 100])
@pytest.mark.parametrize(
    ("line", "globs", "left"),
    [
        ("T:begin(a) T:r(x) T:end(a)", "a", "T:r(x)"),
        ("T:begin(a) T:begin(b) T:r(x) T:end(b) T:end(a)", "a", "T:begin(b) T:r(x) T:end(b)"),
        ("T:begin(a) T:begin(b) T:r(x) T:end(b) T:end(a)", "b", "T:begin(a) T:r(x) T:end(a)"),
        ("T:begin(a) T:begin(a) T:end(a) T:end(a)", "a", ""),
        ("T:begin(a) U:begin(b) T:end(a) U:end(b)", "a", "U:begin(b) U:end(b)"),
        ("T:r(x) T:begin(a) T:w(x)", "a", "T:r(x) T:w(x)"),
        ("T:begin(b) T:begin(a) T:end T:end", "a", "T:begin(b) T:end"),
        ("T:begin(b) T:r(x) T:begin(a) T:r(y) T:end(a) T:end(b)", "a", "T:begin(b) T:r(x) T:r(y) T:end(b)"),
        ("T:begin(a) T:end(a)", "z", "T:begin(a) T:end(a)"),
        ("", "a", ""),
    ],
)
def test_dropping(line: str, globs: str, left: str, size: int) -> None:
    source = Cut(atomsan.parse(line), size)
    assert notation(AtomicRegionSource(source, excluding(globs).is_atomic)) == atomsan.parse(left).notation()


@pytest.mark.parametrize("size", [1, 3, 100])
@pytest.mark.parametrize(
    ("line", "split"),
    [
        # end before, begin after
        (
            "T:begin(a) T:r(x) T:take(h) T:w(x) T:end(a)",
            "T:begin(a) T:r(x) T:end(a) T:take(h) T:begin(a) T:w(x) T:end(a)",
        ),
        (
            "T:begin(a) T:r(x) T:join(U) T:w(x) T:end(a)",
            "T:begin(a) T:r(x) T:end(a) T:join(U) T:begin(a) T:w(x) T:end(a)",
        ),
        # a condition's wait: the acquire belongs to the second part
        (
            "T:begin(a) T:acq(l) T:rel(l) T:take(h) T:acq(l) T:rel(l) T:end(a)",
            "T:begin(a) T:acq(l) T:rel(l) T:end(a) T:take(h) T:begin(a) T:acq(l) T:rel(l) T:end(a)",
        ),
        # every enclosing region
        (
            "T:begin(a) T:begin(b) T:take(h) T:r(x) T:end(b) T:end(a)",
            "T:begin(a) T:begin(b) T:end(b) T:end(a) T:take(h) T:begin(a) T:begin(b) T:r(x) T:end(b) T:end(a)",
        ),
        # no empty transaction between two waits, nor after the last
        (
            "T:begin(a) T:r(x) T:take(h) T:take(g) T:end(a) T:r(y)",
            "T:begin(a) T:r(x) T:end(a) T:take(h) T:take(g) T:r(y)",
        ),
        (
            "T:begin(a) T:begin(b) T:take(h) T:end(b) T:r(x) T:end(a)",
            "T:begin(a) T:begin(b) T:end(b) T:end(a) T:take(h) T:begin(a) T:r(x) T:end(a)",
        ),
        (
            "T:begin(a) T:take(h) T:begin(b) T:end(b) T:end(a)",
            "T:begin(a) T:end(a) T:take(h) T:begin(a) T:begin(b) T:end(b) T:end(a)",
        ),
        # other threads' regions, and waits outside regions, change nothing
        ("T:begin(a) U:take(h) T:end(a)", "T:begin(a) U:take(h) T:end(a)"),
        # no waits
        ("T:begin(a) T:post(h) T:fork(U) T:acq(l) T:rel(l)", "T:begin(a) T:post(h) T:fork(U) T:acq(l) T:rel(l)"),
    ],
)
def test_splitting(line: str, split: str, size: int) -> None:
    source = Cut(atomsan.parse(line), size)
    assert notation(AtomicRegionSource(source, split_all=True)) == split
    assert notation(AtomicRegionSource(Cut(atomsan.parse(line), size))) == line, "a foreign trace stays whole"


def built(line: str, **origins: str) -> Trace:
    """A trace with the origins of its regions."""
    builder = TraceBuilder()
    for region, origin in origins.items():
        builder.symbols.regions.intern(region, origin=origin)
    return builder.extend(atomsan.parse(line)).build()


@pytest.mark.parametrize("origin", ["function", "loop", "statement", "lock-block", "annotated", "foreign"])
def test_only_regions_chosen_by_the_recorder_are_split(origin: str) -> None:
    line = "T:begin(a) T:r(x) T:take(h) T:w(x) T:end(a)"
    split = notation(AtomicRegionSource(built(line, a=origin))) != line
    assert split == (origin not in ("annotated", "foreign"))


def test_regions_around_a_whole_region_stay_whole() -> None:
    line = "T:begin(a) T:begin(b) T:begin(c) T:take(h) T:r(x)"
    source = AtomicRegionSource(built(line, a="function", b="annotated", c="function"))
    assert notation(source) == "T:begin(a) T:begin(b) T:begin(c) T:end(c) T:take(h) T:begin(c) T:r(x)"


def test_dropped_region_is_not_split() -> None:
    line = "T:begin(a) T:begin(b) T:take(h) T:r(x) T:end(b) T:end(a)"
    source = AtomicRegionSource(atomsan.parse(line), excluding("a").is_atomic, split_all=True)
    assert notation(source) == "T:begin(b) T:end(b) T:take(h) T:begin(b) T:r(x) T:end(b)"


def test_batches_pass_through_if_nothing_changes() -> None:
    trace = atomsan.parse("T:begin(a) T:take(h) T:end(a)")
    (batch,) = AtomicRegionSource(trace, excluding("b").is_atomic).batches()
    (original,) = trace.batches()
    assert batch.op.base is original.op.base or batch.op is original.op


def test_each_region_is_decided_once() -> None:
    asked = []

    def is_atomic(region: str, origin: str) -> bool:
        asked.append(region)
        return region != "b"

    trace = atomsan.parse("T:begin(a) T:end(a) T:begin(b) T:end(b) T:begin(a) T:end(a)")
    notation(AtomicRegionSource(Cut(trace, 1), is_atomic))
    assert asked == ["a", "b"]


def reference(events: list[Event], dropped: set[str], *, split: bool) -> list[tuple[int, Event]]:
    """The expected result, by the definition of the stage: (index in the input, event)."""
    stacks: dict[str, list[list[object]]] = {}
    out: list[tuple[int, Event]] = []
    for i, event in enumerate(events):
        stack = stacks.setdefault(event.thread, [])
        if event.op is Op.END:
            _, state, _ = stack.pop()
            if state == "open":
                out.append((i, event))
            continue
        if event.op in (Op.JOIN, Op.TAKE):
            for frame in reversed(stack if split else []):
                if frame[1] == "open":
                    out.append((i, Event(event.thread, Op.END, str(frame[0]), event.site)))
                    frame[1] = "waiting"
        elif event.op is not Op.BEGIN or event.target not in dropped:
            for frame in stack:
                if frame[1] == "waiting":
                    out.append((i, Event(event.thread, Op.BEGIN, str(frame[0]), frame[2])))  # type: ignore[arg-type]
                    frame[1] = "open"
        if event.op is Op.BEGIN:
            stack.append([event.target, "dropped" if event.target in dropped else "open", event.site])
            if event.target in dropped:
                continue
        out.append((i, event))
    return out


@pytest.mark.parametrize("split", [True, False])
def test_regions_agree_with_the_definition_in_any_batches(split: bool) -> None:
    rng = random.Random(11)
    for _ in range(400):
        builder = TraceBuilder()
        for n, step in enumerate(random_steps(rng)):
            builder.add(step.thread, step.op, step.target, f"s{n}")
        trace = builder.build()
        regions = list(trace.symbols.regions)
        dropped = set(rng.sample(regions, rng.randint(0, len(regions))))
        source = AtomicRegionSource(
            Cut(trace, rng.choice([1, 2, 7, 1000])),
            lambda name, _, dropped=dropped: name not in dropped,
            split_all=split,
        )
        batches: list[Batch] = list(source.batches())
        found = [trace.symbols.event(*row) for batch in batches for row in batch.rows()]
        expected = reference(list(trace.events()), dropped, split=split)
        assert found == [event for _, event in expected]
        assert [source.place(i).event for i in range(len(found))] == [i for i, _ in expected]
        assert [batch.first for batch in batches] == [sum(map(len, batches[:i])) for i in range(len(batches))]
        assert source.events == len(trace)


def test_outer_regions_are_kept_only_if_named() -> None:
    builder = TraceBuilder()
    builder.symbols.regions.intern("main", origin="outer")
    for op, target in (("begin", "main"), ("begin", "f"), ("r", "x"), ("take", "h"), ("end", "f"), ("end", "main")):
        builder.add("T", op, target)
    trace = builder.build()
    inner = "T:begin(f) T:r(x) T:take(h) T:end(f)"
    assert notation(AtomicRegionSource(trace)) == atomsan.parse(inner).notation()
    assert notation(AtomicRegionSource(trace, Specification().is_atomic)) == atomsan.parse(inner).notation()
    named = AtomicRegionSource(trace, Specification(atomic=("main", "f")).is_atomic)
    assert notation(named) == trace.notation(), "the region of another tool inside keeps it whole"
    builder.symbols.regions.set(1, "origin", "function")
    split = "T:begin(main) T:begin(f) T:r(x) T:end(f) T:end(main) T:take(h)"
    assert (
        notation(AtomicRegionSource(trace, Specification(atomic=("main", "f")).is_atomic))
        == atomsan.parse(split).notation()
    )
