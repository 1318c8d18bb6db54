"""The trace generator: the same events for a seed, well-formed traces, and true answers."""

from __future__ import annotations

import dataclasses
import hashlib
import itertools
import json
import random
import re
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from atomsan.errors import InputError, Place
from atomsan.trace import generator
from atomsan.trace.events import Op
from atomsan.trace.generator import (
    BENCHMARKS,
    GENERATOR_KINDS,
    GeneratedSource,
    GeneratorOptions,
    generate,
    options_for,
    preset,
)
from atomsan.trace.validation import ValidatedSource
from oracles import serializability, violating, wellformed
from oracles.model import Step

KNOWN_KINDS = [kind for kind in GENERATOR_KINDS if kind != "random"]


def events(generated: GeneratedSource) -> list[tuple[int, int, int, int]]:
    return [row for batch in generated.batches() for row in batch.rows()]


def steps(generated: GeneratedSource) -> list[Step]:
    named = (generated.symbols.event(*row) for row in events(generated))
    return [Step(event.thread, event.op.word, event.target) for event in named]


def short(kind: str, **given: Any) -> GeneratedSource:
    """A trace small enough for the oracles that has every feature."""
    few = {"events": 60, "threads": 3, "locks": 2, "variables": 8, "handovers": 1, "region_length": 3}
    if kind == "violating":
        few["violations"] = 2
    return generate(options_for(kind, **(few | given)))


def digest(generated: GeneratedSource) -> str:
    columns = hashlib.sha256()
    for row in events(generated):
        columns.update(b"%d %d %d %d\n" % row)
    return columns.hexdigest()[:16]


def chosen(kind: str, number: int) -> GeneratorOptions:
    """Randomly chosen options."""
    pick = random.Random(f"{kind} {number}").choice
    given = {
        "seed": number,
        "events": pick([0, 1, 2, 3, 5, 10, 20, 40, 60, 80]),
        "threads": pick([1, 2, 3, 5, 8]),
        "locks": pick([0, 1, 2, 5]),
        "variables": pick([1, 2, 3, 8, 20]),
        "regions": pick([1, 3, 25]),
        "handovers": pick([0, 0, 1, 3]),
        "sites": pick([1, 9, 10, 39, 40, 1000]),
        "region_length": pick([1, 2, 5]),
        "region_locks": pick([0.0, 0.5, 1.0, 4.0]),
        "nesting": pick([1, 2, 4]),
        "read_share": pick([0.0, 0.3, 0.7, 1.0]),
        "locality": pick([0.0, 0.3, 0.8, 1.0]),
        "unary": pick([0.0, 0.2, 0.6, 1.0]),
        "burst": pick([1.0, 1.5, 5.0, 50.0]),
    }
    if kind == "violating":
        given["violations"] = pick([1, 2, 3, 6])
        given["violations_from"] = pick([0.0, 0.5, 1.0])
        given["threads"] = max(2, given["threads"])
        given["events"] += 5 * given["violations"] + 2 * (given["threads"] - 1)
    return options_for(kind, **given)


# ---- determinism


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("serializable", "bba9d6a53f21a0c0"),
        ("violating", "a35ad8ded31fc99f"),
        ("long-region", "3fd631d1ae77a7ae"),
        ("random", "6aab21a9565f554b"),
    ],
)
def test_trace_of_a_seed_never_changes(kind: str, expected: str) -> None:
    """If this fails, users cannot generate their old traces again: change a digest only on purpose."""
    assert digest(short(kind, seed=7, events=2000)) == expected


@pytest.mark.parametrize("kind", GENERATOR_KINDS)
def test_batches_can_be_taken_twice(kind: str) -> None:
    generated = short(kind)
    assert events(generated) == events(generated)
    assert generated.truth == generated.truth


@pytest.mark.parametrize("kind", GENERATOR_KINDS)
def test_different_seeds_give_different_traces(kind: str) -> None:
    assert len({digest(short(kind, seed=seed)) for seed in range(20)}) == 20


@pytest.mark.parametrize("kind", GENERATOR_KINDS)
def test_batch_size_does_not_change_the_events(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = short(kind)
    expected = events(whole)
    monkeypatch.setattr(generator, "BATCH_EVENTS", 7)
    cut = short(kind)
    batches = list(cut.batches())
    assert [row for batch in batches for row in batch.rows()] == expected
    assert [(batch.first, len(batch)) for batch in batches] == [*((i, 7) for i in range(0, 56, 7)), (56, 4)]
    assert cut.truth == whole.truth


# ---- the event source


@pytest.mark.parametrize("kind", GENERATOR_KINDS)
def test_columns_are_typed_and_read_only(kind: str) -> None:
    (batch,) = short(kind).batches()
    columns = (batch.thread, batch.op, batch.target, batch.site)
    assert [column.dtype for column in columns] == [np.uint32, np.uint8, np.uint32, np.uint32]
    assert not any(column.flags.writeable for column in columns)


def test_names() -> None:
    generated = short("violating", threads=12, regions=3, sites=40)
    names = {table.kind: list(table) for table in generated.symbols.tables()}
    assert names == {
        "threads": [f"T{i}" for i in range(12)],
        "locations": [f"V{i}" for i in range(8 + 2)],
        "locks": ["L0", "L1"],
        "functions": [],
        "regions": ["m0", "m1", "m2"],
        "handovers": ["h0"],
        "sites": [str(i) for i in range(40)],
    }


def test_many_names() -> None:
    variables = generate(options_for("serializable", variables=1_234_567)).symbols.locations
    assert len(variables) == 1_234_567
    numbers = [0, 9, 10, 99_999, 100_000, 999_999, 1_000_000, 1_234_566]
    assert [variables[number] for number in numbers] == [f"V{number}" for number in numbers]
    assert variables.find("V1234566") == 1_234_566


def test_meta_and_place() -> None:
    generated = short("random", seed=3)
    assert (generated.meta.source, generated.meta.events, generated.meta.complete) == (
        "generated random trace, seed 3",
        60,
        True,
    )
    assert generated.place(5) == Place("generated random trace, seed 3", None, 5)


@pytest.mark.parametrize("kind", GENERATOR_KINDS)
@pytest.mark.parametrize("sites", [10, 25, 1000])
def test_each_site_has_one_operation(kind: str, sites: int) -> None:
    rows = events(short(kind, events=5000, sites=sites))
    operations = {(site, op) for _, op, _, site in rows}
    used = {site for site, _ in operations}
    assert len(used) == len(operations)
    assert max(used) < sites


# ---- well-formedness and length


@pytest.mark.parametrize("kind", GENERATOR_KINDS)
def test_small_traces_are_well_formed(kind: str) -> None:
    for number in range(150):
        options = chosen(kind, number)
        trace = steps(generate(options))
        assert len(trace) == options.events, options
        assert wellformed.offence(trace) is None, options


@pytest.mark.parametrize("kind", GENERATOR_KINDS)
@pytest.mark.parametrize(
    "given",
    [
        {},
        {"locks": 1, "threads": 40, "region_locks": 4.0},
        {"locks": 3000, "threads": 200, "region_locks": 8.0, "nesting": 10},
        {"locks": 0, "threads": 1, "variables": 1},
        {"region_length": 5000, "handovers": 5, "unary": 0.0},
    ],
)
def test_large_traces_are_well_formed(kind: str, given: dict[str, Any]) -> None:
    if kind == "violating":
        given = given | {"threads": max(2, given.get("threads", 8)), "violations": 500}
    generated = generate(options_for(kind, **(given | {"events": 100_000})))
    assert sum(map(len, ValidatedSource(generated).batches())) == 100_000


@pytest.mark.parametrize("kind", ["serializable", "violating"])
def test_everything_is_closed_at_the_end(kind: str) -> None:
    for number in range(100):
        options = chosen(kind, number)
        ops = Counter(Op(op) for _, op, _, _ in events(generate(options)))
        assert ops[Op.BEGIN] == ops[Op.END]
        assert ops[Op.ACQUIRE] == ops[Op.RELEASE]
        assert ops[Op.FORK] == ops[Op.JOIN] == min(options.threads - 1, options.events // 2)


def test_random_trace_has_every_operation_and_nesting() -> None:
    generated = generate(options_for("random", events=5000))
    trace = steps(generated)
    assert {op for _, op, _ in trace} == {op.word for op in Op}
    held: Counter[tuple[str, str]] = Counter()
    most: Counter[str] = Counter()
    for thread, op, target in trace:
        change = {"acquire": 1, "begin": 1, "release": -1, "end": -1}.get(op, 0)
        key = (thread, target) if op in ("acquire", "release") else (thread, "")
        held[key] += change
        most[op] = max(most[op], held[key])
    assert most["acquire"] > 1, "no lock is held twice"
    assert most["begin"] == 3, "regions do not nest as deep as they may"


def test_random_traces_are_serializable_or_not() -> None:
    """Otherwise the tests that use them would miss half of the errors."""
    answers = Counter(serializability.serializable(steps(short("random", events=30, seed=n))) for n in range(100))
    assert min(answers[True], answers[False]) > 15


# ---- the known answer


def injected(truth: dict[str, Any]) -> set[tuple[str, int, int, int]]:
    return {(one["thread"], one["transaction"], one["events"][1], one["events"][2]) for one in truth["injected"]}


@pytest.mark.parametrize("kind", KNOWN_KINDS)
def test_truth_agrees_with_the_oracles(kind: str) -> None:
    for number in range(400):
        options = chosen(kind, number)
        generated = generate(options)
        trace = steps(generated)
        truth = generated.truth
        found = violating.violations(trace)
        assert serializability.serializable(trace) is truth["serializable"], options
        assert truth["serializable"] is (options.violations == 0)
        assert len(found) == truth["violations"] == options.violations, options
        assert violating.violating(trace) == set(map(tuple, truth["transactions"])), options
        assert {(one.transaction.thread, one.transaction.number, one.first, one.second) for one in found} == injected(
            truth
        ), options


@pytest.mark.parametrize("kind", KNOWN_KINDS)
def test_handovers_close_no_cycle(kind: str) -> None:
    """Hand-overs are rare, so that only longer traces have some."""
    for seed in range(60):
        generated = short(
            kind, seed=seed, events=150, threads=4, locks=6, region_length=6, region_locks=3.0, burst=2.0, unary=0.0
        )
        trace = steps(generated)
        assert {(one.first, one.second) for one in violating.violations(trace)} == {
            (remote, write) for _, _, remote, write in injected(generated.truth)
        }
        assert serializability.serializable(trace) is generated.truth["serializable"]


def test_truth_has_the_events_of_an_injected_violation() -> None:
    for seed in range(50):
        generated = short("violating", seed=seed)
        trace = steps(generated)
        for one in generated.truth["injected"]:
            read, remote, write = (trace[event] for event in one["events"])
            assert read == (one["thread"], "read", one["variable"])
            assert write == (one["thread"], "write", one["variable"])
            assert remote[1:] == ("write", one["variable"])
            assert remote[0] != one["thread"]
            assert Counter(target for _, _, target in trace)[one["variable"]] == 3
            begins = [i for i, step in enumerate(trace) if step == (one["thread"], "begin", one["region"])]
            assert any(begin < one["events"][0] for begin in begins)


def test_truth_is_json_and_available_only_at_the_end() -> None:
    generated = short("violating", seed=1)
    batches = generated.batches()
    next(batches)
    with pytest.raises(RuntimeError, match="all batches"):
        generated.truth  # noqa: B018
    assert next(batches, None) is None
    truth = generated.truth
    assert json.loads(json.dumps(truth)) == truth
    assert list(truth) == ["schema", "kind", "seed", "serializable", "violations", "transactions", "injected"]
    assert truth["schema"] == "atomsan-truth/1"
    assert list(truth["injected"][0]) == ["thread", "transaction", "region", "variable", "events"]


def test_truth_of_a_random_trace_is_unknown() -> None:
    generated = short("random", seed=5)
    events(generated)
    assert generated.truth == {
        "schema": "atomsan-truth/1",
        "kind": "random",
        "seed": 5,
        "serializable": None,
        "violations": None,
        "transactions": None,
        "injected": [],
    }


def test_violations_are_spread_over_the_trace() -> None:
    generated = generate(options_for("violating", events=100_000, violations=10))
    events(generated)
    places = [one["events"][0] // 10_000 for one in generated.truth["injected"]]
    assert places == list(range(10))


def test_violations_from_delays_the_violations() -> None:
    generated = generate(options_for("violating", events=100_000, violations=10, violations_from=0.9))
    events(generated)
    assert min(one["events"][0] for one in generated.truth["injected"]) >= 90_000


def test_trace_with_only_violations() -> None:
    generated = generate(options_for("violating", events=5 * 20 + 2 * 2, threads=3, violations=20, locks=0))
    trace = steps(generated)
    assert Counter(op for _, op, _ in trace) == {
        "fork": 2,
        "join": 2,
        "begin": 20,
        "end": 20,
        "read": 20,
        "write": 40,
    }
    assert len(violating.violations(trace)) == generated.truth["violations"] == 20


def test_long_region_spans_the_trace_and_is_always_read_from() -> None:
    generated = generate(options_for("long-region", events=20_000, threads=4, variables=400))
    trace = steps(generated)
    assert trace[0] == ("T0", "begin", "m0")
    assert not any(thread == "T0" and op == "end" for thread, op, _ in trace)
    reads = [(i, target) for i, (thread, op, target) in enumerate(trace) if thread != "T0" and op == "read"]
    written = [(target, i) for i, (thread, op, target) in enumerate(trace) if (thread, op) == ("T0", "write")]
    published = dict(written).keys() & {target for _, target in reads}
    fresh = [i for target, i in written if target in published]
    assert 100 >= len(published) > 90
    assert len(fresh) == len(published), "one is written again"
    assert max(fresh) > 19_000, "no new one near the end"
    edges = [i for i, target in reads if target in published]
    assert max(later - sooner for sooner, later in itertools.pairwise([0, *edges, len(trace)])) < 500


# ---- options


def shares(options: GeneratorOptions) -> dict[str, float]:
    generated = generate(options)
    depth: Counter[int] = Counter()
    count: Counter[str] = Counter()
    last = None
    for thread, op, _, _ in events(generated):
        count["switches"] += thread != last
        last = thread
        count["reads"] += op == Op.READ
        count["accesses"] += op in (Op.READ, Op.WRITE)
        count["transactions"] += op == Op.BEGIN and depth[thread] == 0
        count["unary"] += depth[thread] == 0 and op != Op.BEGIN
        count["acquires"] += op == Op.ACQUIRE and depth[thread] > 0
        depth[thread] += (op == Op.BEGIN) - (op == Op.END)
        count["depth"] = max(count["depth"], depth[thread])
    return {
        "unary": count["unary"] / options.events,
        "read_share": count["reads"] / count["accesses"],
        "burst": options.events / count["switches"],
        "nesting": count["depth"],
        "region_locks": count["acquires"] / max(count["transactions"], 1),
        "transactions": count["transactions"],
    }


@pytest.mark.parametrize(
    ("option", "value", "tolerance"),
    [
        ("unary", 0.0, 0.02),
        ("unary", 0.5, 0.03),
        ("unary", 1.0, 0.0),
        ("read_share", 0.2, 0.02),
        ("read_share", 0.9, 0.02),
        ("nesting", 1, 0),
        ("nesting", 5, 0),
        ("region_locks", 0.0, 0.0),
        ("region_locks", 0.5, 0.05),
        ("region_locks", 2.0, 0.3),
        ("burst", 1.0, 0.3),
        ("burst", 10.0, 2.0),
    ],
)
def test_option_changes_the_share_in_the_trace(option: str, value: float, tolerance: float) -> None:
    options = options_for("serializable", events=30_000, threads=10, locks=100, **{option: value})
    assert shares(options)[option] == pytest.approx(value, abs=tolerance)


def test_locality() -> None:
    """Variables of one thread are numbered between those of locks and the shared ones, and have one user each."""
    options = options_for("serializable", events=50_000, variables=1000, locality=0.4, read_share=1.0)
    rows = [row for row in events(generate(options)) if row[1] <= Op.WRITE]
    users: dict[int, set[int]] = {}
    for thread, _, variable, _ in rows:
        users.setdefault(variable, set()).add(thread)
    own = {variable for variable in users if 450 <= variable < 850}
    assert len(own) == 400
    assert all(len(users[variable]) == 1 for variable in own)
    assert sum(row[2] in own for row in rows) / len(rows) == pytest.approx(0.4, abs=0.02)


def test_regions_interleave() -> None:
    trace = steps(generate(options_for("serializable", events=5000)))
    inside: Counter[str] = Counter()
    together = 0
    for thread, op, _ in trace:
        inside[thread] += (op == "begin") - (op == "end")
        together += sum(depth > 0 for depth in inside.values()) > 3
    assert together > 2500


# ---- presets


@pytest.mark.parametrize("name", BENCHMARKS)
def test_preset_has_the_proportions_of_its_benchmark(name: str) -> None:
    row = BENCHMARKS[name]
    scale = min(1.0, 40_000 / row.events)
    options = preset(name, scale=scale)
    assert options.events == pytest.approx(row.events * scale, abs=1)
    assert (options.threads, options.locks) == (row.threads, row.locks)
    assert options.variables == max(1, round(row.variables * scale))
    wanted = row.transactions * scale
    found = shares(options)["transactions"]
    assert found == pytest.approx(wanted, rel=0.05, abs=1 + 4 * wanted**0.5)
    generated = generate(options)
    events(generated)
    assert generated.truth["serializable"] is row.atomic
    assert all(one["events"][0] >= 0.9 * options.events for one in generated.truth["injected"])


def test_presets_are_the_benchmarks_of_table_1() -> None:
    assert " ".join(BENCHMARKS) == (
        "avrora elevator hedc luindex lusearch moldyn montecarlo philo pmd raytracer sor sunflow tsp xalan"
    )
    assert [name for name, row in BENCHMARKS.items() if row.atomic] == ["elevator", "philo", "raytracer"]


def test_tiny_scale_has_a_minimum_of_events() -> None:
    assert {name: preset(name, scale=1e-9).events for name in ("avrora", "philo")} == {
        "avrora": 1000,
        "philo": 613,
    }
    assert preset("xalan", scale=1e-9).locks == 250
    assert preset("hedc", scale=1, seed=9).seed == 9


# ---- refused options


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (
            lambda: options_for("nonsense"),
            "there is no kind 'nonsense' of generated trace: it is one of serializable, violating, long-region, random",
        ),
        (lambda: GeneratorOptions(kind="nonsense"), "there is no kind 'nonsense'"),  # type: ignore[arg-type]
        (lambda: options_for("serializable", threads=0), "threads must be from 1 to 1000000, not 0"),
        (lambda: options_for("serializable", events=-1), "events must be from 0 to"),
        (lambda: options_for("serializable", variables=0), "variables must be from 1 to"),
        (lambda: options_for("serializable", variables=2**32), "variables must be from 1 to 4294967295"),
        (lambda: options_for("serializable", locks=-1), "locks must be from 0"),
        (lambda: options_for("serializable", seed=2**64), "seed must be from 0 to 18446744073709551615"),
        (lambda: options_for("serializable", region_length=0), "region-length must be from 1"),
        (lambda: options_for("serializable", nesting=0), "nesting must be from 1"),
        (lambda: options_for("serializable", sites=0), "sites must be from 1"),
        (lambda: options_for("serializable", read_share=1.1), "read-share must be from 0.0 to 1.0, not 1.1"),
        (
            lambda: options_for("serializable", locality=float("nan")),
            "locality must be from 0.0 to 1.0, not nan",
        ),
        (lambda: options_for("serializable", burst=0.5), "burst must be from 1.0"),
        (lambda: options_for("serializable", events=1.5), "events must be a whole number, not 1.5"),
        (lambda: options_for("serializable", unary="much"), "unary must be a number, not 'much'"),
        (
            lambda: options_for("serializable", violations=1),
            "violations are injected into a violating trace, not into a serializable one",
        ),
        (lambda: options_for("violating", violations=0), "a violating trace needs violations: at least 1"),
        (lambda: options_for("violating", threads=1), "a violating trace needs at least 2 threads"),
        (
            lambda: options_for("violating", threads=3, violations=2, events=13),
            "2 violations among 3 threads need at least 14 events, not 13",
        ),
        (lambda: options_for("violating", variables=2**32 - 1), "more than 4294967295 together"),
        (lambda: preset("avroa"), "there is no preset 'avroa': it is one of avrora, elevator, "),
        (lambda: preset("philo", scale=0), "scale must be more than 0"),
        (lambda: preset("philo", scale=float("nan")), "scale must be more than 0"),
    ],
)
def test_bad_options_are_refused(make: Callable[[], GeneratorOptions], message: str) -> None:
    with pytest.raises(InputError, match=re.escape(message)):
        make()


def test_options_are_immutable() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        GeneratorOptions().events = 3  # type: ignore[misc]
