"""Validation: the compiled validator against the oracle, the message of each rule, and repairs."""

import io
import random
import re
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import atomsan
from atomsan import InputError, TraceBuilder
from atomsan.trace.events import Op
from atomsan.trace.reading import open_trace
from atomsan.trace.trace import Trace
from oracles.model import Step
from oracles.wellformed import offence
from strategies import random_steps, traces

# of each rule: a trace that breaks it, the message, and the repaired trace
BROKEN = [
    ("T:rel(l)", "event 0: T releases lock l, which nobody holds", ""),
    ("T:acq(l) U:rel(l)", "event 1: U releases lock l, which T has held since event 0", "T:acq(l)"),
    ("T:acq(l) U:acq(l)", "event 1: U acquires lock l, which T has held since event 0", "T:acq(l)"),
    ("T:end(m)", "event 0: T ends m, but has no region open", ""),
    ("T:begin(a) T:end(b)", "event 1: T ends b, but is inside a since event 0", "T:begin(a)"),
    (
        "T:begin(a) T:begin(b) T:begin(c) T:end(a) T:r(x)",
        "event 3: T ends a, but is inside c since event 2",
        "T:begin(a) T:begin(b) T:begin(c) T:end(c) T:end(b) T:end(a) T:r(x)",
    ),
    ("T:fork(T)", "event 0: T forks itself", ""),
    ("T:fork(U) T:fork(U)", "event 1: T forks U, which was already forked at event 0", "T:fork(U)"),
    ("U:r(x) T:fork(U)", "event 1: T forks U, whose first event came before, at event 0", "U:r(x)"),
    ("T:join(U) T:fork(U)", "event 1: T forks U, which was already joined at event 0", "T:join(U)"),
    ("T:join(T)", "event 0: T joins itself", ""),
    ("T:fork(U) T:join(U) U:r(x)", "event 2: U goes on after it was joined at event 1", "T:fork(U) T:join(U)"),
]

WELL_FORMED = [
    "",
    "T:acq(l) T:acq(l) T:rel(l) T:rel(l) U:acq(l)",
    "T:acq(l)",
    "T:begin(a) T:begin(a) T:end(a)",
    "T:begin(a) T:end",
    "T:fork(U) T:join(U)",
    "T:join(U) T:join(U) V:join(U)",
    "T:fork(U) U:begin(m) U:acq(l) T:join(U)",
    "T:take(h) U:post(h)",
]


@pytest.mark.parametrize(("line", "message", "repaired"), BROKEN)
def test_message_and_repair_of_each_rule(line: str, message: str, repaired: str) -> None:
    with pytest.raises(InputError) as caught:
        atomsan.parse(line)
    assert str(caught.value) == f"the text: {message}"
    assert atomsan.parse(line, lenient=True).notation() == repaired


@pytest.mark.parametrize("line", WELL_FORMED)
def test_well_formed(line: str) -> None:
    assert len(atomsan.parse(line)) == len(line.split())
    assert len(atomsan.parse(line, lenient=True)) == len(line.split())


def test_nameless_end_closes_any_region_but_named_end_closes_no_nameless_one() -> None:
    atomsan.parse("T|begin(m)|1\nT|end()|2\n", format="std")
    with pytest.raises(InputError, match="T ends m, but is inside a region"):
        atomsan.parse("T|begin()|1\nT|end(m)|2\n", format="std")


def test_repairs_are_reported_with_count_and_first_place() -> None:
    source = open_trace(io.BytesIO(b"T|r(x)|1\nT|rel(l)|1\nT|rel(l)|1\nT|end(m)|1\n"), lenient=True)
    assert sum(map(len, source.batches())) == 1
    assert source.repairs.lines() == [
        "dropped a release of a lock that nobody held, 2 times"
        " (first: the input:2: T releases lock l, which nobody holds)",
        "dropped an end without a begin, 1 time (first: the input:4: T ends m, but has no region open)",
    ]


def test_events_of_a_repaired_trace_have_their_places() -> None:
    text = b"T|rel(l)|1\nT|begin(a)|1\nT|begin(b)|1\nT|end(a)|1\nT|rel(l)|1\nT|r(x)|1\n"
    source = open_trace(io.BytesIO(text), lenient=True, batch_events=2)
    trace = Trace.from_source(source)
    assert [(event.op.short, source.place(i).line) for i, event in enumerate(trace)] == [
        ("begin", 2), ("begin", 3), ("end", 4), ("end", 4), ("r", 6),
    ]  # fmt: skip


def built(steps: list[Step]) -> TraceBuilder:
    builder = TraceBuilder()
    for step in steps:
        builder.add(step.thread, step.op, step.target)
    return builder


@settings(max_examples=200, deadline=None)
@given(traces())
def test_generated_traces_are_well_formed(steps: list[Step]) -> None:
    assert len(built(steps).build()) == len(steps)


def arbitrary_steps(rng: random.Random) -> list[Step]:
    """Random steps with so few names that they keep and break every rule."""
    words = [op.word for op in Op]
    names = {"threads": "TUV", "locations": "xy", "locks": "lm", "regions": "ab", "handovers": "h"}
    chosen = []
    for _ in range(rng.randrange(1, 25)):
        op = Op(words.index(rng.choice(words)))
        chosen.append(Step(rng.choice("TUV"), op.word, rng.choice(names[op.target_kind])))
    return chosen


def is_malformed(steps: list[Step]) -> bool:
    """The oracle's answer, after asserting that the validator finds the same event."""
    fault = offence(steps)
    try:
        built(steps).build()
        found = None
    except InputError as error:
        found = error.event
    assert found == (fault[0] if fault else None), steps
    return fault is not None


def test_validator_agrees_with_the_oracle_on_arbitrary_traces() -> None:
    rng = random.Random(1)
    faults = sum(is_malformed(arbitrary_steps(rng)) for _ in range(6000))
    assert 1000 < faults < 6000


def test_validator_agrees_with_the_oracle_on_traces_with_one_changed_step() -> None:
    rng = random.Random(2)
    faults = 0
    for _ in range(3000):
        steps = list(random_steps(rng))
        if not steps:
            continue
        at = rng.randrange(len(steps))
        if rng.random() < 0.5:
            del steps[at]
        else:
            steps.insert(at, rng.choice(steps))
        faults += is_malformed(steps)
    assert faults > 300


def test_long_traces_of_running_threads() -> None:
    """While all threads are running, accesses are checked many at a time: faults must still be found."""
    rng = random.Random(4)
    faults: Counter[str] = Counter()
    for _ in range(150):
        forks = rng.random() < 0.3
        steps = list(random_steps(rng, events=400, threads=4, forks=forks, joins=forks))
        steps = [Step(thread, "read", "x1") for thread in sorted({step.thread for step in steps})] * (not forks) + steps
        for _ in range(rng.randrange(2)):
            steps.insert(rng.randrange(len(steps)), rng.choice(steps))
        fault = offence(steps)
        faults[fault[1] if fault else "none"] += 1
        try:
            built(steps).build()
            found = None
        except InputError as error:
            found = error.event
        assert found == (fault[0] if fault else None), steps
    assert faults["none"] > 20
    assert len(faults) > 3


def test_each_fault_among_many_accesses() -> None:
    accesses = 100 * "T:r(x) U:w(y) V:r(x) "
    for line, message, _ in BROKEN:
        if "fork" in line or "join" in line:
            continue
        with pytest.raises(InputError) as caught:
            atomsan.parse(f"{accesses} {line} {accesses}")
        number = 300 + int(re.findall(r"event (\d+)", message)[0])
        assert caught.value.event == number


def test_repaired_traces_are_well_formed() -> None:
    rng = random.Random(3)
    for _ in range(3000):
        steps = arbitrary_steps(rng)
        repaired = built(steps).build(lenient=True)
        again = [Step(event.thread, event.op.word, event.target) for event in repaired]
        assert offence(again) is None
        if offence(steps) is None:
            assert again == steps


@given(st.integers(1, 7))
def test_rules_hold_across_batches(batch_events: int) -> None:
    text = b"T|acq(l)|1\n" + 10 * b"T|r(x)|1\n" + b"U|acq(l)|1\n"
    source = open_trace(io.BytesIO(text), batch_events=batch_events)
    with pytest.raises(InputError, match=r"the input:12: U acquires lock l, which T has held since line 1"):
        list(source.batches())
