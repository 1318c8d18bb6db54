"""Witnesses of every checker, as findings show them: each edge holds, nothing can be left out, one name for each."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import pairwise

import pytest

import atomsan
from atomsan import Trace
from atomsan.checkers.loop import run_checkers
from atomsan.checkers.registry import CHECKERS, Capability
from atomsan.checkers.results import Edge, Step, Witness
from atomsan.checkers.turns import TurnFinder
from atomsan.findings.making import TraceNames, findings_of
from atomsan.findings.shortening import shortened
from atomsan.trace.events import Op
from checkers.comparison import built, generated

WITNESSED = [name for name, entry in CHECKERS.items() if entry.can(Capability.WITNESSES)]


def witnesses(trace: Trace, checker: str) -> list[Witness]:
    return run_checkers(trace, [CHECKERS[checker].make()]).results[0].witnesses


def shown(trace: Trace, witness: Witness) -> str:
    names = trace.symbols
    events = [(names.event(step.thread, step.op, step.target, step.site), step.edge) for step in witness.steps]
    return " ".join(f"{event.thread}:{event.op.short}({event.target}) {edge}>" for event, edge in events)


@pytest.mark.parametrize("checker", WITNESSED)
@pytest.mark.parametrize(
    ("line", "expected"),
    [
        # V comes between U and T, and U is enough
        (
            "T:begin(f) T:w(x) U:r(x) U:w(x) V:r(x) V:w(x) T:r(x) T:end(f)",
            "T:w(x) write-write> U:w(x) write-read> T:r(x) program-order>",
        ),
        # the read of the lost update, though the write before it would do
        (
            "T:begin(f) T:w(x) T:r(x) U:w(x) T:w(x) T:end(f)",
            "T:r(x) read-write> U:w(x) write-write> T:w(x) program-order>",
        ),
        # three are needed
        (
            "T:begin(f) T:w(x) U:begin(g) U:r(x) U:w(y) U:end(g) V:begin(h) V:r(y) V:w(z) V:end(h) T:r(z) T:end(f)",
            "T:w(x) write-read> U:r(x) program-order> U:w(y) write-read> V:r(y) program-order> V:w(z) write-read>"
            " T:r(z) program-order>",
        ),
    ],
)
def test_fewest_threads_and_steps(checker: str, line: str, expected: str) -> None:
    trace = atomsan.parse(line)
    (found,) = [one for one in map(shortened, witnesses(trace, checker)) if one.blamed and one.blamed.thread == 0]
    assert shown(trace, found) == expected


def edge_by_definition(one: Step, other: Step) -> set[Edge]:
    """The edges that lead from a step to another one, by the definition of the order of events."""
    if one.thread == other.thread:
        return {Edge.PROGRAM_ORDER} if one.event < other.event else set()
    if one.event >= other.event:
        return set()
    edges = set()
    ops = Op(one.op), Op(other.op)
    if one.target == other.target:
        kinds = {
            (Op.WRITE, Op.READ): Edge.WRITE_READ,
            (Op.READ, Op.WRITE): Edge.READ_WRITE,
            (Op.WRITE, Op.WRITE): Edge.WRITE_WRITE,
            (Op.RELEASE, Op.ACQUIRE): Edge.LOCK,
            (Op.POST, Op.TAKE): Edge.HAND_OVER,
        }
        edges |= {kinds[ops]} if ops in kinds else set()
    if ops[0] is Op.FORK and one.target == other.thread:
        edges.add(Edge.FORK)
    if ops[1] is Op.JOIN and other.target == one.thread:
        edges.add(Edge.JOIN)
    return edges


def is_own(step: Step, witness: Witness) -> bool:
    return (step.thread, step.transaction) == witness.blamed


def assert_valid(trace: Trace, witness: Witness) -> None:
    rows = [row for batch in trace.batches() for row in batch.rows()]
    steps = witness.steps
    assert all(rows[step.event] == (step.thread, step.op, step.target, step.site) for step in steps)
    assert all(one.edge in edge_by_definition(one, other) for one, other in pairwise(steps))
    assert steps[-1].edge is Edge.PROGRAM_ORDER
    assert is_own(steps[0], witness)
    assert is_own(steps[-1], witness)
    assert not any(is_own(step, witness) for step in steps[1:-1])


def ways(witness: Witness) -> Iterator[list[Step]]:
    """Every way out of the transaction to blame and back, along direct edges between the steps of a witness."""
    paths = [[step] for step in witness.steps if is_own(step, witness)]
    while paths:
        path = paths.pop()
        for step in witness.steps:
            if edge_by_definition(path[-1], step) and not (is_own(path[-1], witness) and is_own(step, witness)):
                if is_own(step, witness):
                    yield [*path, step]
                else:
                    paths.append([*path, step])


def crossings(steps: list[Step]) -> int:
    return sum(one.thread != other.thread for one, other in pairwise(steps))


@pytest.mark.parametrize("checker", WITNESSED)
def test_shortened_witnesses_are_valid_and_shortest(checker: str) -> None:
    rng = random.Random(7)
    seen = changed = 0
    while seen < 300:
        steps = generated(rng)
        if len(steps) > 200:
            continue
        trace = built(steps)
        for witness in witnesses(trace, checker):
            if witness.blamed is None:
                assert shortened(witness) is witness
                continue
            short = shortened(witness)
            assert_valid(trace, short)
            assert (short.blamed, short.count, short.found_by) == (witness.blamed, witness.count, witness.found_by)
            assert {step.event for step in short.steps} <= {step.event for step in witness.steps}
            assert shortened(short) == short
            if len(witness.steps) < 12:
                best = min((crossings(way), len(way)) for way in ways(witness))
                assert (crossings(short.steps), len(short.steps)) == best
            seen += 1
            changed += len(short.steps) < len(witness.steps)
    assert changed > 20


def test_lock_of_a_loop_makes_no_edge() -> None:
    """Only the checker knows which locks order: an edge of a lock that it did not use is not put in."""
    trace = atomsan.parse("T:acq(l) T:begin(f) T:rel(l) T:w(x) U:r(x) U:acq(l) U:w(y) T:r(y) T:end(f)")
    (found,) = witnesses(trace, "davida")
    assert Edge.LOCK not in {step.edge for step in shortened(found).steps}


def test_one_violation_has_one_pattern_whoever_found_it() -> None:
    """The same transaction to blame, a cycle of the same transactions, closed by the same event."""
    rng = random.Random(3)
    compared = 0
    for _ in range(2000):
        steps = generated(rng)
        if len(steps) > 200:
            continue
        trace = built(steps)
        found: dict[object, dict[str, tuple[str, str]]] = {}
        for checker in WITNESSED:
            for one in witnesses(trace, checker):
                if one.blamed is None:
                    continue
                (finding,) = findings_of([one], TraceNames(trace), "observed")
                cycle = dict.fromkeys((step.thread, step.transaction or -step.event) for step in one.steps)
                key = (one.blamed, *sorted(cycle), finding.first_event)
                found.setdefault(key, {})[checker] = (finding.pattern, finding.id)
        for names in found.values():
            assert len(set(names.values())) == 1, trace.notation()
            compared += len(names) > 1
    assert compared > 200


def test_atomic_sets_name_a_violation_as_the_transactions_do() -> None:
    for line in (
        "T:begin(f) T:r(x) U:w(x) T:w(x) T:end(f)",
        "T:begin(f) T:r(x) U:w(x) T:r(x) T:end(f)",
        "T:begin(f) T:w(x) U:r(x) T:w(x) T:end(f)",
        "T:begin(f) T:w(x) U:w(x) T:r(x) T:end(f)",
        "T:begin(f) T:w(x) U:begin(g) U:r(x) U:w(y) U:end(g) T:r(y) T:end(f)",
    ):
        trace = atomsan.parse(line)
        names = {one.pattern for one in atomsan.check(trace, "davida").findings}
        found = {one: atomsan.sets(trace, {"S": ["x", "y"]}, method=one).findings for one in ("projection", "patterns")}
        assert {one.pattern for one in found["projection"]} == names
        # the last is no match of any pattern of accesses
        assert {one.pattern for one in found["patterns"]} == (set() if "y" in line else names)


# ---- wording


def test_cycle_of_three_is_explained_as_one_of_three() -> None:
    line = "T:begin(f) T:w(x) U:begin(g) U:r(x) U:w(y) U:end(g) V:begin(h) V:r(y) V:w(z) V:end(h) T:r(z) T:end(f)"
    (found,) = [one for one in atomsan.check(atomsan.parse(line)).findings if one.region == "f"]
    assert found.pattern == "inconsistent view"
    assert found.explanation[-1] == (
        "U and V come after one part of what T does, one after the other, and before another part of it: no order of"
        " the three explains that."
    )


def test_writer_in_between_is_named_and_not_the_first_of_the_others() -> None:
    line = "T:begin(f) T:w(x) U:r(x) U:acq(l) U:rel(l) V:acq(l) V:w(x) V:rel(l) T:r(x) T:end(f)"
    for checker in WITNESSED:
        (found,) = atomsan.check(atomsan.parse(line), checker).findings
        assert found.pattern == "overwritten write"
        assert found.explanation[-1] == (
            "T writes x and later reads it, and V writes it in between: it need not find what it left there."
        )


@pytest.mark.parametrize(
    ("line", "region"),
    [
        # all that g did lies between two accesses of f
        ("T:begin(f) T:w(x) U:begin(g) U:r(y) U:r(x) U:end(g) T:w(y) T:end(f)", "f"),
        ("U:begin(g) U:w(x) T:begin(f) T:r(y) T:r(x) T:end(f) U:w(y) U:end(g)", "g"),
    ],
)
def test_blamed_on_the_one_that_was_interrupted(line: str, region: str) -> None:
    trace = atomsan.parse(line)
    finder = TurnFinder(None, trace.symbols.locations)
    for batch in trace.batches():
        finder.feed(batch)
    finder.finish()
    found = findings_of(finder.witnesses(), TraceNames(trace), "observed")
    assert {finding.region for finding in found} == {region}
