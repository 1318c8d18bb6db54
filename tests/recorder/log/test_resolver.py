"""Each rule of the resolver: a short log, and the trace it must give."""

from __future__ import annotations

import re

import numpy as np
import pytest

from atomsan.source.spec import Specification
from atomsan.trace.events import Op
from atomsan.trace.regions import AtomicRegionSource
from atomsan.trace.trace import Trace
from atomsan.trace.validation import ValidatedSource
from recorder.raw import NAMES, M, Resolved, module, record

L, C, Q, S, B, F = 0x1000, 0x2000, 0x3000, 0x4000, 0x5000, 0x6000

# sites 1.. of a module with functions f (1), g (2): regions by number
REGIONS = [
    ("m:f", "function"),
    ("m:g", "function"),
    ("m:loops", "function", 1, 1, True),
    ("m:run", "function", 1, 1, False, True),
    ("m:f/loop:3", "loop"),
    ("m:f/statement:4", "statement"),
    ("m:f/with:5", "lock-block"),
    ("m:main", "outer"),
]
PROBES = [
    ("begin", 1, 0, 1, "", "", 0),  # 1: f
    ("end", 1, 0, 1, "", "", 0),  # 2
    ("begin", 2, 0, 2, "", "", 1),  # 3: g
    ("end", 2, 0, 2, "", "", 1),  # 4
    ("begin", 3, 0, 1, "", "", 2),  # 5: loops
    ("end", 3, 0, 1, "", "", 2),  # 6
    ("begin", 4, 0, 1, "", "", 3),  # 7: run, a trampoline
    ("end", 4, 0, 1, "", "", 3),  # 8
    ("begin", 5, 0, 1, "", "", 4),  # 9: an iteration
    ("end", 5, 0, 1, "", "", 4),  # 10
    ("aug_attr", 6, 0, 1, "x", "m", 5),  # 11: m.x += ...
    ("with", 7, 0, 1, "", "", 6),  # 12
    ("begin", 8, 0, 1, "", "", 7),  # 13: main
    ("end", 8, 0, 1, "", "", 7),  # 14
    ("store_attr", 9, 0, 1, "x"),  # 15: another statement of f
    ("load_attr", 9, 4, 1, "x"),  # 16: an expression of f
    ("store_attr", 10, 0, 2, "x"),  # 17: a statement of g
]
CALLS = [["call", 30, 1, [9, 9, 4, 8], "f"], ["call", 31, 1, [9, 9, 10, 14], "f"], ["call", 32, 1, [9, 9, 4, 8], "f"]]
DEFINITIONS = [module(PROBES, regions=REGIONS), *CALLS, *NAMES, ["region", 7, "transfer"]]


def resolved(*records: tuple[int, ...], definitions: list[list[object]] = DEFINITIONS) -> str:
    return Resolved(definitions).feed(*records).notation()


def r(thread: int = 1, name: int = 1, **more: object) -> tuple[int, ...]:
    return record(thread, "read", M, name, **more)  # type: ignore[arg-type]


def w(thread: int = 1, name: int = 1, **more: object) -> tuple[int, ...]:
    return record(thread, "write", M, name, **more)  # type: ignore[arg-type]


def aug(op: str, site: int = 11) -> tuple[int, ...]:
    return record(1, op, M, 1, site=site, flag="augmented")


def test_accesses() -> None:
    assert resolved(r(), w(2), r(1, 2)) == "T1:r(m.x) T2:w(m.x) T1:r(m.y)"


# Objects


def test_reused_address_is_another_location() -> None:
    access = record(1, "read", 64, 1, type=1)
    given = resolved(access, access, record(0, "free", 64), access, definitions=[*NAMES, ["type", 1, "m", "A"]])
    assert given == "T1:r(A.x (A #1)) T1:r(A.x (A #1)) T1:r(A.x (A #2))"


def test_free_of_unknown_address_is_ignored() -> None:
    assert resolved(record(0, "free", 64), r()) == "T1:r(m.x)"


@pytest.mark.parametrize("first", ["field", "hash"])
def test_namespace_and_object_share_locations(first: str) -> None:
    """`obj.x` and `vars(obj)["x"]` are one location, whichever comes first, before or after the alias is known."""
    field, hashed = record(1, "read", 64, 1, type=1), record(1, "write", 128, 101, "hash", type=2)
    alias = record(1, "alias", 128, 64, type=1)
    definitions = [*NAMES, ["type", 1, "m", "A"], ["type", 2, "builtins", "dict"]]
    records = [field, alias, hashed, field] if first == "field" else [alias, hashed, field]
    expected = ["T1:r(A.x (A #1))", "T1:w(A.x (A #1))", "T1:r(A.x (A #1))"]
    assert resolved(*records, definitions=definitions) == " ".join(expected[first == "hash" :])


def test_object_used_only_through_its_namespace() -> None:
    """It is no container that is called `a.__dict__`."""
    definitions = [module([("item", 1, 0, 1, "", "a.__dict__")], regions=REGIONS), *NAMES, ["type", 1, "m", "A"]]
    hashed = record(1, "write", 128, 101, "hash", type=2, site=1)
    assert resolved(record(1, "alias", 128, 64, type=1), hashed, definitions=definitions) == "T1:w(A.x (A #1))"


def test_string_key_of_a_module_is_its_global() -> None:
    assert resolved(record(1, "write", M, 101, "hash"), r()) == "T1:w(m.x) T1:r(m.x)"


def test_namespace_outlives_its_object() -> None:
    definitions = [*NAMES, ["type", 1, "m", "A"], ["type", 2, "builtins", "dict"], ["key", 3, 102, "'y'"]]
    old, new = record(1, "read", 128, 101, "hash", type=2), record(1, "read", 128, 102, "hash", type=2)
    given = resolved(
        *(record(1, "alias", 128, 64, type=1), old, record(0, "free", 64), record(1, "read", 64, 1, type=1), old, new),
        definitions=definitions,
    )
    assert given == "T1:r(A.x (A #1)) T1:r(A.x (A #2)) T1:r(A.x (A #1)) T1:r(dict #1['y'])"


def test_object_key_at_a_reused_address_is_another_key() -> None:
    access = record(1, "read", 64, 128, "object", type=1)
    definitions = [["type", 1, "builtins", "dict"]]
    given = resolved(access, access, record(0, "free", 128), access, definitions=definitions)
    assert given == "T1:r(dict #1[<object #1>]) T1:r(dict #1[<object #1>]) T1:r(dict #1[<object #2>])"


def test_structure_and_whole_have_no_key() -> None:
    definitions = [["type", 1, "builtins", "dict"]]
    records = [record(1, "write", 64, key, kind, type=1) for kind in ("structure", "whole") for key in (0, 5, 5)]
    given = resolved(*records, definitions=definitions)
    assert given == " ".join(["T1:w(dict #1 (structure))"] * 3 + ["T1:w(dict #1[<any key>])"] * 3)


# Regions


def test_functions() -> None:
    given = resolved(record(1, "begin", site=1), r(), record(1, "end", site=2))
    assert given == "T1:begin(m:f) T1:r(m.x) T1:end(m:f)"


def test_end_closes_inner_regions() -> None:
    given = resolved(*(record(1, "begin", site=site) for site in (1, 3, 9)), record(1, "end", site=2))
    assert given == "T1:begin(m:f) T1:begin(m:g) T1:begin(m:f/loop:3) T1:end(m:f/loop:3) T1:end(m:g) T1:end(m:f)"


def test_end_without_begin_is_dropped() -> None:
    given = resolved(record(1, "begin", site=1), record(1, "end", site=4), record(2, "end", site=2))
    assert given == "T1:begin(m:f)"


def test_recursive_function_ends_innermost_first() -> None:
    begin, end = record(1, "begin", site=1), record(1, "end", site=2)
    assert resolved(begin, begin, end, r(), end) == ("T1:begin(m:f) T1:begin(m:f) T1:end(m:f) T1:r(m.x) T1:end(m:f)")


def test_begins_have_the_site_of_their_call() -> None:
    log = Resolved(DEFINITIONS)
    rows = []
    # 30 and 32 are the same expression; the others are no sites of calls, or none at all
    for call in (30, 31, 32, 0, 1, 29, 33, 1 << 40, 30):
        rows += [record(1, "begin", key=call, site=1), record(1, "end", site=1)]
    log.feed(*rows)
    sites = [str(event.site) for event in log.trace().events()]
    assert sites[0::2] == ["m.py:9:4", "m.py:9:10", "m.py:9:4", *["m.py:1:0"] * 5, "m.py:9:4"]
    assert set(sites[1::2]) == {"m.py:1:0"}


def test_generators_that_run_again_have_a_region_of_their_own() -> None:
    log = Resolved(DEFINITIONS)
    for flag in ("", "called_back", "resumed", "", "resumed", "called_back"):
        log.feed(record(1, "begin", site=1, flag=flag))
    log.feed(record(2, "begin", site=1, flag="resumed"), (0, 0, 0, 3, 1, 6, 0, 128 | 32))
    regions = log.symbols.regions
    targets = [target for batch in log.trace().batches() for target in batch.target.tolist()]
    found = [(regions[target], regions.get(target, "entered")) for target in targets]
    entered = [None, "callback", "resumed", None, "resumed", "callback", "resumed"]
    assert found == [*(("m:f", how) for how in entered), ("m:g", "resumed")]


def test_annotated_regions_and_lock_blocks() -> None:
    given = resolved(
        *(record(1, "region", 0, 7), record(1, "block", site=12), record(1, "block_end", site=12)),
        record(1, "region_end", 0, 7),
    )
    assert given == "T1:begin(transfer) T1:begin(m:f/with:5) T1:end(m:f/with:5) T1:end(transfer)"


def origins(*records: tuple[int, ...]) -> list[tuple[str, str]]:
    """(region, origin) of each begin."""
    log = Resolved(DEFINITIONS).feed(*records)
    return [
        (log.symbols.regions[target], log.symbols.regions.get(target, "origin"))
        for batch in log.trace().batches()
        for _, op, target, _ in batch.rows()
        if op == 6
    ]


@pytest.mark.parametrize("start", ["thread", "entry"])
@pytest.mark.parametrize(
    ("sites", "expected"),
    [
        ([5], [("m:loops", "outer")]),
        ([1, 5], [("m:f", "function"), ("m:loops", "function")]),
        ([7, 5], [("m:run", "outer"), ("m:loops", "outer")]),
        ([7, 1, 5], [("m:run", "outer"), ("m:f", "function"), ("m:loops", "function")]),
        ([7, 8, 5], [("m:run", "outer"), ("m:loops", "outer")]),
        ([13, 5], [("m:main", "outer"), ("m:loops", "function")]),
        ([9, 5], [("m:f/loop:3", "loop"), ("m:loops", "function")]),
        ([5, 6, 5], [("m:loops", "outer"), ("m:loops", "function")]),
    ],
)
@pytest.mark.parametrize("are_met", [False, True], ids=["first", "later"])
def test_entry_functions(are_met: bool, start: str, sites: list[int], expected: list[tuple[str, str]]) -> None:
    met = (1, 5, 7, 9, 13) if are_met else ()
    calls = [record(1, op, site=site + (op == "end")) for site in met for op in ("begin", "end")]
    ends, with_loops = (6, 8), (5,)
    steps = [
        record(1, "end" if site in ends else "begin", site=site, flag="loops" if site in with_loops else "")
        for site in sites
    ]
    assert origins(*calls, record(1, start), *steps)[len(met) :] == expected


def test_entry_function_whose_loops_are_no_regions_is_one_as_a_whole() -> None:
    loops = record(1, "begin", site=5)
    assert origins(record(1, "thread"), loops) == [("m:loops", "function")]
    run = record(1, "begin", site=7)
    assert origins(record(1, "thread"), run, loops) == [("m:run", "outer"), ("m:loops", "function")]


def test_function_called_later_is_no_entry() -> None:
    assert origins(record(1, "begin", site=5), record(1, "begin", site=7)) == [
        ("m:loops", "function"),
        ("m:run", "function"),
    ]


# Augmented assignments

S4 = "m:f/statement:4"


def test_an_augmented_assignment_is_a_region() -> None:
    assert resolved(aug("read"), aug("write")) == f"T1:begin({S4}) T1:r(m.x) T1:w(m.x) T1:end({S4})"


def test_a_call_inside_an_augmented_assignment() -> None:
    given = resolved(aug("read"), record(1, "begin", site=3), w(site=17), record(1, "end", site=4), aug("write"))
    assert given == (f"T1:begin({S4}) T1:r(m.x) T1:begin(m:g) T1:w(m.x) T1:end(m:g) T1:w(m.x) T1:end({S4})")


def test_recursion_inside_an_augmented_assignment() -> None:
    begin, end = record(1, "begin", site=1), record(1, "end", site=2)
    given = resolved(aug("read"), begin, aug("read"), aug("write"), end, aug("write"))
    assert given == (f"T1:begin({S4}) T1:r(m.x) T1:begin(m:f) T1:r(m.x) T1:w(m.x) T1:end(m:f) T1:w(m.x) T1:end({S4})")


@pytest.mark.parametrize("begin", [record(1, "begin", site=1), record(1, "begin", site=9), record(1, "block", site=12)])
def test_augmented_assignment_inside_a_region_is_no_region(begin: tuple[int, ...]) -> None:
    found = Resolved(DEFINITIONS).feed(begin, aug("read"), aug("write"), aug("read"), r(site=16))
    assert found.notation().split(" ")[1:] == ["T1:r(m.x)", "T1:w(m.x)", "T1:r(m.x)", "T1:r(m.x)"]
    assert found.recording.counters["unmatched"] == 0


def test_an_augmented_assignment_inside_an_outer_region_is_a_region() -> None:
    main = record(1, "begin", site=13), record(1, "end", site=14)
    expected = f"T1:begin({S4}) T1:r(m.x) T1:w(m.x) T1:end({S4})"
    assert resolved(main[0], aug("read"), aug("write"), main[1]) == f"T1:begin(m:main) {expected} T1:end(m:main)"
    entry = record(1, "thread"), record(1, "begin", site=5, flag="loops")  # an entry function with loops
    assert resolved(*entry, aug("read"), aug("write")) == f"T1:begin(m:loops) {expected}"
    inner = record(1, "begin", site=1), record(1, "end", site=2)
    given = resolved(main[0], *inner, aug("read"), aug("write"))
    assert given == f"T1:begin(m:main) T1:begin(m:f) T1:end(m:f) {expected}"


@pytest.mark.parametrize(
    ("then", "ends"),
    [
        ([aug("read")], True),
        ([w(site=15)], True),
        ([record(1, "begin", site=9)], True),
        ([record(1, "block", site=12)], True),
        ([r(site=16)], False),
        ([record(1, "begin", site=3), w(site=17)], False),
        ([w(2, site=15)], False),
    ],
)
def test_an_augmented_assignment_whose_right_side_failed(then: list[tuple[int, ...]], ends: bool) -> None:
    given = resolved(aug("read"), *then)
    assert given.startswith(f"T1:begin({S4}) T1:r(m.x) T1:end({S4})") is ends
    assert (f"end({S4})" in given) is ends


def test_an_abandoned_assignment_ends_with_its_function() -> None:
    given = resolved(record(1, "begin", site=13), aug("read"), record(1, "end", site=14))
    assert given == f"T1:begin(m:main) T1:begin({S4}) T1:r(m.x) T1:end({S4}) T1:end(m:main)"


F_BEGIN, F_END = record(1, "begin", site=1), record(1, "end", site=2)
G_BEGIN, G_END = record(1, "begin", site=3), record(1, "end", site=4)


def left_without(excluded: str, *records: tuple[int, ...]) -> str:
    """What a specification leaves of what thread 1 did."""
    source = AtomicRegionSource(Resolved(DEFINITIONS).feed(*records), Specification(not_atomic=(excluded,)).is_atomic)
    events = [event for event in Trace.from_source(source).events() if event.thread == "T1"]
    return " ".join(f"{event.op.short}({event.target})" for event in events)


@pytest.mark.parametrize(
    "inside",
    [
        [aug("read"), aug("write"), r(site=16)],
        [aug("read"), r(site=16), aug("write"), aug("read"), aug("write")],
        # the right side failed: the next statement, or the end of the function, shows it
        *([aug("read"), then, r(site=16)] for then in (aug("read"), w(site=15), r(site=16))),
        [aug("read"), record(1, "block", site=12), r(site=16), record(1, "block_end", site=12)],
        [aug("read")],
        [record(1, "block", site=12), aug("read"), aug("write"), record(1, "block_end", site=12)],
        [aug("read"), G_BEGIN, w(site=17), G_END, aug("write")],
        [aug("read"), G_BEGIN, G_END, w(site=15)],
    ],
)
def test_excluded_function_leaves_its_augmented_assignments(inside: list[tuple[int, ...]]) -> None:
    """The same transactions as in code outside of any region that may be atomic."""
    main = record(1, "begin", site=13), *inside, record(1, "end", site=14)
    assert left_without("m:f", F_BEGIN, *inside, F_END) == left_without("m:main", *main)


def test_call_in_the_right_side_of_an_assignment_in_an_excluded_function() -> None:
    call = G_BEGIN, w(site=17), G_END
    left = left_without("m:[fg]", F_BEGIN, aug("read"), *call, aug("write"), F_END)
    assert left == f"begin({S4}) r(m.x) w(m.x) w(m.x) end({S4})"
    left = left_without("m:f", F_BEGIN, aug("read"), F_BEGIN, aug("read"), F_END, aug("write"), F_END)
    assert left == f"begin({S4}) r(m.x) r(m.x) w(m.x) end({S4})"


def test_excluded_assignment_is_no_region() -> None:
    assert left_without("m:f*", F_BEGIN, aug("read"), aug("write"), F_END) == "r(m.x) w(m.x)"


def test_wait_splits_an_assignment_in_an_excluded_function() -> None:
    wait = record(1, "take", F, 0)
    left = left_without("m:f", record(2, "post", F, 0), F_BEGIN, aug("read"), wait, aug("write"), F_END)
    part = f"begin({S4}) {{}}(m.x) end({S4})"
    assert left == f"{part.format('r')} take(event #1) {part.format('w')}"


# Locks


def acq(thread: int, lock: int = L, count: int = 1, **more: object) -> tuple[int, ...]:
    return record(thread, "acquire", lock, count, **more)  # type: ignore[arg-type]


def rel(thread: int, lock: int = L, count: int = 1, **more: object) -> tuple[int, ...]:
    return record(thread, "release", lock, count, **more)  # type: ignore[arg-type]


def test_only_the_outermost_acquire_and_release() -> None:
    given = resolved(acq(1), acq(1), r(), rel(1), r(), rel(1), acq(2))
    assert given == "T1:acq(lock #1) T1:r(m.x) T1:r(m.x) T1:rel(lock #1) T2:acq(lock #1)"


def test_reentrant_lock_released_and_restored_at_once() -> None:
    given = resolved(acq(1), acq(1), rel(1, count=0), acq(2), rel(2), acq(1, count=2), rel(1), r(), rel(1))
    assert given == (
        "T1:acq(lock #1) T1:rel(lock #1) T2:acq(lock #1) T2:rel(lock #1) T1:acq(lock #1) T1:r(m.x) T1:rel(lock #1)"
    )


def test_lock_held_when_recording_began() -> None:
    given = resolved(record(1, "held", L, 1), rel(1), acq(2))
    assert given == "T1:acq(lock #1) T1:rel(lock #1) T2:acq(lock #1)"


def test_release_without_acquire() -> None:
    assert resolved(rel(1), acq(2)) == "T1:acq(lock #1) T1:rel(lock #1) T2:acq(lock #1)"


def test_lock_released_by_another_thread_becomes_a_hand_over() -> None:
    given = resolved(acq(1), rel(1), acq(1), rel(2), acq(1), rel(1), acq(2))
    assert given == (
        "T1:acq(lock #1) T1:rel(lock #1) T1:acq(lock #1) T1:rel(lock #1) T2:post(lock #1 hand-over 1)"
        " T1:take(lock #1 hand-over 1) T1:post(lock #1 hand-over 2) T2:take(lock #1 hand-over 2)"
    )


def test_acquire_without_the_release_before_it() -> None:
    assert resolved(acq(1), acq(2)) == "T1:acq(lock #1) T1:rel(lock #1) T2:acq(lock #1)"


def test_lock_held_by_a_joined_thread() -> None:
    given = resolved(record(1, "fork", 0, 2), acq(2), record(2, "exit"), record(1, "join", 0, 2), acq(1))
    assert given == "T1:fork(T2) T2:acq(lock #1) T1:join(T2) T1:acq(lock #1 #2)"


def test_new_lock_at_a_reused_address() -> None:
    given = resolved(acq(1), rel(1), record(0, "free", L), acq(2))
    assert given == "T1:acq(lock #1) T1:rel(lock #1) T2:acq(lock #2)"


def test_loop_lock_is_never_handed_over() -> None:
    log = Resolved().feed(acq(1, flag="loop"), rel(2, flag="loop"), acq(2, flag="loop"))
    assert log.notation() == "T1:acq(loop #1) T1:rel(loop #1) T2:acq(loop #1)"
    assert log.symbols.locks.get(0, "kind") == "loop"


def test_names_of_primitives() -> None:
    definitions = [["primitive", L, "lock", "Account.lock"], ["primitive", Q, "queue", ""]]
    given = resolved(acq(1), acq(1, lock=0x9000), record(1, "post", Q, 5, "item"), definitions=definitions)
    assert given == "T1:acq(Account.lock) T1:acq(lock #1) T1:post(queue #1 item 1)"


# Conditions


def test_a_condition_that_was_notified() -> None:
    given = resolved(
        *(acq(1), record(1, "wait", C, L), rel(1, count=0), acq(2), record(2, "post", C), rel(2)),
        *(acq(1), record(1, "woken", C, 1), rel(1)),
    )
    assert given == (
        "T1:acq(lock #1) T1:rel(lock #1) T2:acq(lock #1) T2:post(event #1) T2:rel(lock #1)"
        " T1:take(event #1) T1:acq(lock #1) T1:rel(lock #1)"
    )


def test_a_condition_whose_wait_ran_out() -> None:
    given = resolved(acq(1), record(1, "wait", C, L), rel(1), acq(1), record(1, "woken", C, 0), r())
    assert given == "T1:acq(lock #1) T1:rel(lock #1) T1:take(event #1 (ran out)) T1:acq(lock #1) T1:r(m.x)"


@pytest.mark.parametrize("name", ["event", "future", "queue", "semaphore", "barrier", "thread"])
def test_waits_that_ran_out(name: str) -> None:
    """One hand-over for each primitive, that nobody posts."""
    number = ("event", "future", "queue", "semaphore", "barrier", "thread").index(name)
    ran_out, other = (record(1, "take", address, number, "nothing") for address in (64, 128))
    given = resolved(ran_out, r(), ran_out, other)
    first, second = f"T1:take({name} #1 (ran out))", f"T1:take({name} #2 (ran out))"
    assert given == f"{first} T1:r(m.x) {first} {second}"


def test_post_of_nothing_is_dropped() -> None:
    log = Resolved(DEFINITIONS).feed(record(1, "post", Q, 2, "nothing"), r())
    assert (log.notation(), log.recording.counters["strange"]) == ("T1:r(m.x)", 1)


@pytest.mark.parametrize(
    ("steps", "taken"),
    [
        ("put a, get a", "a"),  # no region, nothing to split
        ("main, put a, get a", "a"),
        ("put a, f, get a", ""),
        ("f, put a, get a", "a"),
        ("put a, f, put b, get a, get b", "b"),
        ("f, put a, g, get a", "a"),  # the outer one had to wait for it
        ("f, put a, put b, get a, get b", "a"),  # split there, and then b was there
        ("f, put a, get a, put b, get b", "ab"),
        ("f, put a, end f, f, get a", ""),
        ("put a, main, f, get a", ""),
        ("main, put a, f, get a", ""),
        ("put a, put a, f, get a, get a", ""),
        ("put a, f, put a, get a, get a", "a"),
    ],
)
def test_get_of_what_was_there_when_the_region_began_splits_nothing(steps: str, taken: str) -> None:
    sites = {"f": 1, "g": 3, "main": 13}
    records = []
    for step in steps.split(", "):
        first, _, name = step.partition(" ")
        if first in ("put", "get"):
            op, thread = ("post", 2) if first == "put" else ("take", 1)
            records.append(record(thread, op, Q, ord(name), "item"))
        elif first == "end":
            records.append(record(1, "end", site=sites[name] + 1))
        else:
            records.append(record(1, "begin", site=sites[first]))
    events = resolved(*records).split(" T")
    puts = [step[-1] for step in steps.split(", ") if step.startswith("put")]
    takes = [
        event.partition(":take(queue #1 item ")[2].rstrip(")").split(" (") for event in events if ":take(" in event
    ]
    waited = [puts[int(number) - 1] for number, *ready in takes if not ready]
    assert "".join(waited) == taken
    assert "".join(puts[int(number) - 1] for number, *_ in takes) == "".join(re.findall(r"get (.)", steps))


def test_take_of_what_was_there_names_the_hand_over_of_its_put() -> None:
    put, get = (record(thread, op, Q, 5, "item") for thread, op in ((2, "post"), (1, "take")))
    symbols = Resolved(DEFINITIONS).feed(put, record(1, "begin", site=1), get).recording.symbols
    assert list(symbols.handovers) == ["queue #1 item 1", "queue #1 item 1 (ready)"]
    assert [symbols.posted(0), symbols.posted(1)] == [0, 0]
    assert [symbols.is_wait(Op.TAKE, 0), symbols.is_wait(Op.TAKE, 1)] == [True, False]


def test_a_wait_that_ran_out_and_one_that_did_not() -> None:
    put, get = (record(1, op, Q, 5, "item") for op in ("post", "take"))
    given = resolved(record(1, "take", Q, 2, "nothing"), put, get, record(1, "take", Q, 2, "nothing"))
    nothing = "T1:take(queue #1 (ran out))"
    assert given == f"{nothing} T1:post(queue #1 item 1) T1:take(queue #1 item 1) {nothing}"


def test_a_put_that_waited_for_room_and_one_that_got_none() -> None:
    room, nothing = (record(1, "take", Q, number, "nothing") for number in (6, 2))
    given = resolved(room, nothing, room, r())
    assert given == "T1:take(queue #1 room) T1:take(queue #1 (ran out)) T1:take(queue #1 room) T1:r(m.x)"


def test_a_wait_that_ran_out_splits_the_regions_around_it() -> None:
    log = Resolved(DEFINITIONS)
    log.feed(record(1, "begin", site=1), r(), record(1, "take", S, 3, "nothing"), w(), record(1, "end", site=2))
    split = Trace.from_source(ValidatedSource(AtomicRegionSource(log.trace())))
    assert [event.op.short for event in split.events()] == ["begin", "r", "end", "take", "begin", "w", "end"]


@pytest.mark.parametrize("then", [r(), record(1, "exit"), rel(1)])
def test_held_back_acquire_comes_before_the_next_record(then: tuple[int, ...]) -> None:
    given = resolved(acq(1), record(1, "wait", C, L), rel(1), acq(1), then)
    assert given.startswith("T1:acq(lock #1) T1:rel(lock #1) T1:acq(lock #1)")


def test_held_back_acquire_comes_at_the_end() -> None:
    given = resolved(acq(1), record(1, "wait", C, L), rel(1), acq(1))
    assert given == "T1:acq(lock #1) T1:rel(lock #1) T1:acq(lock #1)"


# Semaphores


def take(thread: int) -> tuple[int, ...]:
    return record(thread, "take", S, 0, "permit")


def post(thread: int) -> tuple[int, ...]:
    return record(thread, "post", S, 0, "permit")


def permits(count: int) -> tuple[int, ...]:
    return record(1, "semaphore", S, count)


def test_a_semaphore_of_one_permit_is_a_lock() -> None:
    given = resolved(permits(1), take(1), post(1), take(2), post(2))
    assert given == "T1:acq(semaphore #1) T1:rel(semaphore #1) T2:acq(semaphore #1) T2:rel(semaphore #1)"


def test_semaphore_of_one_permit_released_by_another_thread() -> None:
    given = resolved(permits(1), take(1), post(1), take(1), post(2), take(1), post(1), take(2))
    assert given == (
        "T1:acq(semaphore #1) T1:rel(semaphore #1) T1:acq(semaphore #1) T1:rel(semaphore #1)"
        " T2:post(semaphore #1 permit 1) T1:take(semaphore #1 permit 1)"
        " T1:post(semaphore #1 permit 2) T2:take(semaphore #1 permit 2)"
    )


def test_acquire_takes_the_release_that_made_room() -> None:
    given = resolved(permits(2), take(1), take(2), post(1), take(3), post(3), post(2), take(1))
    assert given == (
        "T1:post(semaphore #1 permit 1) T3:take(semaphore #1 permit 1)"
        " T3:post(semaphore #1 permit 2) T2:post(semaphore #1 permit 3) T1:take(semaphore #1 permit 2)"
    )


def test_acquire_that_cannot_wait_takes_none_of_several_permits() -> None:
    quick = record(1, "take", S, 0, "permit", flag="no_wait")
    assert resolved(permits(2), take(1), take(2), post(1), quick) == "T1:post(semaphore #1 permit 1)"
    assert resolved(permits(0), post(2), quick) == "T2:post(semaphore #1 permit 1) T1:take(semaphore #1 permit 1)"
    assert resolved(permits(1), quick, post(1)) == "T1:acq(semaphore #1) T1:rel(semaphore #1)"


def test_a_semaphore_without_permits() -> None:
    given = resolved(permits(0), post(1), take(2))
    assert given == "T1:post(semaphore #1 permit 1) T2:take(semaphore #1 permit 1)"


def test_semaphore_made_before_recording() -> None:
    """It had at least as many permits as were out at once."""
    given = resolved(take(1), take(2), post(1), take(3))
    assert given == "T1:post(semaphore #1 permit 1) T3:take(semaphore #1 permit 1)"


# Barriers, queues, events, futures


def test_barrier_phases() -> None:
    arrive, depart = (lambda t, op=op: record(t, op, B) for op in ("arrive", "depart"))
    given = resolved(record(1, "barrier", B, 2), arrive(1), arrive(2), depart(2), arrive(2), depart(1), arrive(1))
    assert given == (
        "T1:post(barrier #1 phase 1) T2:post(barrier #1 phase 1) T2:take(barrier #1 phase 1)"
        " T2:post(barrier #1 phase 2) T1:take(barrier #1 phase 1) T1:post(barrier #1 phase 2)"
    )


def test_a_barrier_that_was_broken() -> None:
    arrive, depart = (lambda t, op=op: record(t, op, B) for op in ("arrive", "depart"))
    given = resolved(record(1, "barrier", B, 2), arrive(1), arrive(1), arrive(2), depart(1), depart(2), depart(3))
    assert given == (
        "T1:post(barrier #1 phase 1) T1:post(barrier #1 phase 1) T2:post(barrier #1 phase 1)"
        " T1:take(barrier #1 phase 1) T2:take(barrier #1 phase 1)"
    )


def test_take_gets_the_oldest_post_of_its_item() -> None:
    put, get = (lambda t, item, op=op: record(t, op, Q, item, "item") for op in ("post", "take"))
    given = resolved(put(1, 5), put(1, 6), put(2, 5), get(3, 6), get(3, 5), get(4, 5), get(4, 5), put(1, 5))
    assert given == (
        "T1:post(queue #1 item 1) T1:post(queue #1 item 2) T2:post(queue #1 item 3) T3:take(queue #1 item 2)"
        " T3:take(queue #1 item 1) T4:take(queue #1 item 3) T1:post(queue #1 item 4)"
    )


def test_future_has_a_start_and_a_result() -> None:
    given = resolved(
        *(record(1, "post", F, 0, "start"), record(2, "take", F, 0, "start")),
        *(record(2, "post", F), record(1, "take", F)),
    )
    assert given == ("T1:post(future #1 start) T2:take(future #1 start) T2:post(future #1) T1:take(future #1)")


# Threads


def test_fork_and_join() -> None:
    given = resolved(record(1, "fork", 0, 2), w(2), record(2, "exit"), record(1, "join", 0, 2), r())
    assert given == "T1:fork(T2) T2:w(m.x) T1:join(T2) T1:r(m.x)"


def test_names_of_threads() -> None:
    threads = [["thread", 1, "MainThread"], ["thread", 2, "worker", "thread"], ["thread", 3, "worker", "task"]]
    assert resolved(r(1), r(2), r(3), definitions=[*NAMES, *threads]) == (
        "MainThread:r(m.x) worker:r(m.x) worker #2:r(m.x)"
    )


@pytest.mark.parametrize(
    "odd",
    [
        [record(1, "fork", 0, 1)],
        [record(1, "join", 0, 1)],
        [record(1, "join", 0, 9)],
        [record(2, "exit"), record(1, "join", 0, 2)],
        [record(1, "fork", 0, 2), record(3, "fork", 0, 2)],
        [r(2), record(1, "fork", 0, 2)],
        [record(1, "fork", 0, 2), record(1, "join", 0, 2), r(2)],
        [record(1, "fork", 0, 1 << 40)],
        [r(0), r(1 << 30)],
    ],
)
def test_odd_threads_are_dropped(odd: list[tuple[int, ...]]) -> None:
    log = Resolved(DEFINITIONS).feed(*odd)
    assert len(log.trace()) < len(odd) + 1
    counters = log.recording.counters
    assert counters["strange"] + counters["unmatched"] + counters["of ended threads"] > 0


def test_records_of_an_ended_thread_are_dropped_and_counted() -> None:
    log = Resolved(DEFINITIONS).feed(record(2, "begin", site=1), record(2, "exit"), r(2), r(1))
    assert log.notation() == "T2:begin(m:f) T2:end(m:f) T1:r(m.x)"
    assert log.recording.counters["of ended threads"] == 1


def test_join_closes_open_regions() -> None:
    given = resolved(record(1, "fork", 0, 2), record(2, "begin", site=1), record(1, "join", 0, 2))
    assert given == "T1:fork(T2) T2:begin(m:f) T2:end(m:f) T1:join(T2)"


def test_a_hundred_thousand_tasks() -> None:
    log = Resolved(NAMES)
    log.define(["thread", number, f"Task-{number}", "task"] for number in range(2, 100_002))
    records = [
        step
        for number in range(2, 100_002)
        for step in (record(1, "fork", 0, number), w(number), record(number, "exit"), record(1, "join", 0, number))
    ]
    assert len(log.feed(*records).trace()) == 300_000


# Memory


def test_memory_is_bounded_by_live_objects() -> None:
    log = Resolved(NAMES)
    objects = np.arange(1, 1001)
    churn = [step for i in objects for step in (record(1, "write", 64 * int(i), 1), record(0, "free", 64 * int(i)))]
    log.feed(*churn)
    before = log.recording._resolver.memory()
    for _ in range(50):
        log.feed(*churn)
    assert log.recording._resolver.memory() == before
    assert len(log.symbols.locations) == 51_000
