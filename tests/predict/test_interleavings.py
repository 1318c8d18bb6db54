"""The interleaving of a predicted finding: the steps of both units, in an order that can be forced."""

from __future__ import annotations

import random

import atomsan
from atomsan import Finding, Trace
from atomsan.findings.finding import OrderedStep
from atomsan.predictors.witnesses import MOST_SHOWN
from strategies import random_steps

N = 100

LOST = (
    "T1:begin(a) T1:acq(l) T1:r(x) T1:rel(l) T1:acq(l) T1:w(x) T1:rel(l) T1:end(a) "
    "T2:begin(a) T2:acq(l) T2:r(x) T2:rel(l) T2:acq(l) T2:w(x) T2:rel(l) T2:end(a)"
)


def predicted(trace: Trace) -> list[Finding]:
    report = atomsan.predict(trace)
    return [*report.findings, *report.suspects]


def words(steps: tuple[OrderedStep, ...] | None) -> str:
    return " ".join(f"{step.thread}:{step.op}({step.location})" for step in steps or ())


def check(finding: Finding, trace: Trace) -> None:
    """Events of the trace, each thread's in their order; locks exclude; the witness is among them, in its order."""
    steps = finding.interleaving
    assert steps
    assert [step.position for step in steps] == sorted({step.position for step in steps})
    assert finding.left_out + len(steps) >= steps[-1].position
    holders: dict[str, str] = {}
    latest: dict[str, int] = {}
    for step in steps:
        event = trace[step.event]
        if step.op == "release" and event.op.word != "release":
            # a unit that ends inside a lock block: to others it is released there
            assert step.event == latest[step.thread]
        else:
            assert (event.thread, event.op.word, event.target) == (step.thread, step.op, step.location)
            assert latest.get(step.thread, -1) < step.event
        latest[step.thread] = step.event
        if step.op == "acquire":
            assert step.location not in holders
            holders[step.location] = step.thread
        elif step.op == "release":
            assert holders.pop(step.location) == step.thread
    places = {(step.event, step.op): step.position for step in steps}
    witness = sorted(finding.witness, key=lambda step: step.when)
    assert [places[step.event, step.op] for step in witness] == [step.position for step in witness]
    local = [finding.witness[at] for at in finding.span or ()]
    others = [step.when for step in witness if step.owner != local[0].owner]
    assert min(step.when for step in local) < min(others)
    assert max(others) < max(step.when for step in local)


def test_steps_of_both_units_in_the_order_in_which_it_happens() -> None:
    trace = atomsan.parse(LOST)
    (found,) = predicted(trace)
    check(found, trace)
    assert words(found.interleaving) == (
        "T1:acquire(l) T1:read(x) T1:release(l) "
        "T2:acquire(l) T2:read(x) T2:release(l) T2:acquire(l) T2:write(x) T2:release(l) "
        "T1:acquire(l) T1:write(x) T1:release(l)"
    )
    content = found.to_dict()
    assert content["interleaving"][0] == {
        "position": 1,
        "thread": "T1",
        "transaction": None,
        "region": None,
        "event": 1,
        "op": "acquire",
        "location": "l",
        "site": None,
    }
    assert (content["interleaving"][1]["transaction"], content["interleaving"][1]["region"]) == (1, "a")
    assert "interleaving_left_out" not in content


def test_locks_have_the_sites_at_which_they_are_taken() -> None:
    (found,) = predicted(
        atomsan.parse(LOST.replace("T1:acq(l)", "T1:acq(l)@a.py:7").replace("T2:rel(l)", "T2:rel(l)@a.py:9"))
    )
    at = {(step.thread, step.op): str(step.site) for step in found.interleaving or () if step.site is not None}
    assert at == {("T1", "acquire"): "a.py:7", ("T2", "release"): "a.py:9"}


def test_what_was_observed_has_none() -> None:
    (found,) = atomsan.check(atomsan.parse("T1:begin(a) T1:r(x) T2:w(x) T1:w(x) T1:end(a)")).findings
    assert found.to_dict()["interleaving"] is None


def test_generated_traces() -> None:
    rng = random.Random(8)
    count = 0
    for _ in range(200):
        builder = atomsan.TraceBuilder()
        for step in random_steps(rng, threads=3, locks=2, variables=3, events=24, block_structured=True, closed=True):
            builder.add(step.thread, step.op, step.target)
        trace = builder.build()
        for found in predicted(trace):
            check(found, trace)
            count += 1
    assert count > 100


def test_long_interleaving_is_cut_to_what_is_around_the_witness() -> None:
    """Each access of `y` has a lock block of its own, so none of them can be left out of the units."""
    builder = atomsan.TraceBuilder()
    for thread, region in (("T1", "a"), ("T2", "b")):
        builder.add(thread, "begin", region)
        builder.add(thread, "acq", "outer")
        for number in range(N):
            builder.add(thread, "acq", f"l{number}")
            builder.add(thread, "w", f"y{number}")
            builder.add(thread, "rel", f"l{number}")
        builder.add(thread, "rel", "outer")
        for op in ("r", "w"):
            for one in ("acq", op, "rel"):
                builder.add(thread, one, "x" if one == op else "l")
        builder.add(thread, "end", region)
    trace = builder.build()
    found = next(one for one in predicted(trace) if {step.location for step in one.witness} == {"x"})
    check(found, trace)
    assert found.interleaving is not None
    assert 10 <= len(found.interleaving) <= 2 * MOST_SHOWN
    assert len(found.interleaving) + found.left_out == 2 * (3 * N + 2 + 6)
    assert found.to_dict()["interleaving_left_out"] == found.left_out
