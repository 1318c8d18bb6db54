"""Judging of violations as findings or notes, from witnesses in one line: `T1 read x > T2 write x > T1 write x`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from atomsan.findings import judging, reasons
from atomsan.findings.finding import Finding, Hold, InSet, ShownStep, SiteShown
from atomsan.findings.judging import Evidence, Violations, condition_reads, judge
from atomsan.findings.surroundings import ConditionRead, EnclosingRegion, RepeatedRead, Surroundings

OPERATIONS = {"len": "read", "in": "read", "look": "read", "get_nowait": "write"}
FIELDS = {"#": judging.STRUCTURE, "$": judging.QUEUE, "*": judging.ANY_KEY, "[": judging.ELEMENT}


def step(words: str, number: int) -> ShownStep:
    """`T1@3 append A.items#`: thread, event, operation, location; its last sign is a part of a container."""
    who, operation, location = words.split()
    thread, _, event = who.partition("@")
    at = int(event) if event else number
    op = operation if operation in ("read", "write", "release", "acquire") else OPERATIONS.get(operation, "write")
    field = FIELDS.get(location[-1], location.rpartition(".")[2])
    return ShownStep(
        thread=thread,
        transaction=1,
        region=f"m:{thread}",
        event=at,
        place="",
        op=op,
        location=location,
        path=location,
        site=SiteShown("m.py", at, 0, "C.method", f"line {at}"),
        to=0,
        edge="",
        target=abs(hash(location)),
        number=at,
        field=field,
        object=location.rstrip("#$*[") if field in FIELDS.values() else location.partition(".")[0],
        owner_object=location.partition(".")[0] if field in FIELDS.values() and "." in location else None,
        operation=operation,
    )


def finding(path: str, kind: str = "atomicity") -> Finding:
    steps = [step(words, number) for number, words in enumerate(path.split(" > "))]
    steps = [
        replace(one, edge="program-order" if one.thread == other.thread else f"{one.op}-{other.op}")
        for one, other in zip(steps, [*steps[1:], steps[0]], strict=True)
    ]
    return Finding(
        id=path,
        status="observed",
        kind="cycle" if kind == "cycle" else "atomicity",
        pattern="",
        region="m:T",
        count=1,
        first_event=0,
        witness=tuple(steps),
        span=(0, len(steps) - 1),
    )


def ours(name: str) -> bool:
    """Whether AtomSan chose a region: it chose all of them."""
    return True


def why(given: str | Finding) -> str | None:
    """The reason why a violation on data is no finding, judged by its steps alone."""
    violation = finding(given) if isinstance(given, str) else given
    (only,) = judge(Violations(of_sets=[violation]), Evidence(is_ours=ours))
    return only.why


def why_around(
    given: Finding,
    regions: Mapping[int, list[EnclosingRegion]],
    again: Mapping[ConditionRead, RepeatedRead] | None = None,
) -> str | None:
    """The same, with the regions that are open at its steps, and the reads that were repeated."""
    around = Surroundings([])
    around.regions |= regions
    around.again |= again or {}
    (only,) = judge(Violations(of_sets=[given]), Evidence(is_ours=ours, around=around))
    return only.why


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("T read A.x > U write A.x > T write A.x", None),
        ("T append A.l# > U append A.l# > U append A.l# > T append A.l#", reasons.COMMUTES),
        ("T add A.s# > U add A.s# > U add A.s[ > T add A.s[", reasons.COMMUTES),
        # puts and gets of different threads
        ("T put q$ > U get_nowait q$ > U put q$ > T put q$", reasons.COMMUTES),
        # adding and removing by value or key
        ("T add A.s# > U add A.s# > U discard A.s# > T discard A.s#", reasons.COMMUTES),
        ("T append A.l# > U remove A.l# > T remove A.l#", reasons.COMMUTES),
        ("T append A.l[ > U remove A.l[ > T remove A.l[", reasons.COMMUTES),
        ("T __setitem__ A.d# > U __setitem__ A.d# > U pop A.d# > T __delitem__ A.d#", reasons.COMMUTES),
        ("T setdefault A.d# > U __delitem__ A.d# > T pop A.d#", reasons.COMMUTES),
        # but not of the same key or element, nor by position, nor beside a read of the size
        ("T __setitem__ A.d[ > U __setitem__ A.d[ > T __delitem__ A.d[", None),
        ("T add A.s[ > U add A.s[ > U discard A.s[ > T discard A.s[", None),
        ("T remove A.s[ > U remove A.s[ > T remove A.s[", None),
        ("T __delitem__ A.l# > U pop A.l# > T __delitem__ A.l#", None),
        ("T __setitem__ A.l[ > U __setitem__ A.l[ > U pop A.l# > T pop A.l#", None),
        ("T append A.l# > U pop A.l# > T remove A.l#", None),
        ("T len A.d# > U __setitem__ A.d# > T __setitem__ A.d#", None),
        ("T __setitem__ A.d# > U len A.d# > T __delitem__ A.d#", None),
        # check-then-act: the check does not commute, though the acts do
        ("T len A.l# > U append A.l# > U append A.l# > T append A.l#", None),
        ("T in A.s[ > U add A.s[ > U add A.s# > T add A.s#", None),
        ("T look q$ > U get_nowait q$ > U get_nowait q$ > T get_nowait q$", None),
        # the read was of another container
        ("T write A.d[ > U read A.d[ > U append A.e# > T append A.e#", reasons.COMMUTES),
        # in the middle of a cycle too
        ("T read A.x > U write A.x > U append B.l# > V append B.l# > V write A.y > T read A.y", reasons.COMMUTES),
        ("T append A.l# > U pop A.l# > T append A.l#", None),
        ("T read A.d* > U write A.d* > T write A.d*", reasons.WHOLE),
        ("T write A.x > U read A.x > U write B.y > T read B.y", reasons.ACROSS),
        # a container that an object holds is the object's data
        ("T write A.x > U read A.x > U append A.l# > T len A.l#", None),
    ],
)
def test_violation_is_judged_by_its_steps(path: str, expected: str | None) -> None:
    assert why(path) == expected


def within(given: Finding, **sets: str) -> Finding:
    """The same finding, with the data of each object in the named set that spans objects."""
    steps = [
        replace(one, sets=(InSet(sets[one.data], frozenset({"A", "Base"})),) if one.data in sets else ())
        for one in given.witness
    ]
    return replace(given, witness=tuple(steps))


ACROSS = "T write A.x > U read A.x > U write B.y > T read B.y"


@pytest.mark.parametrize(
    ("sets", "expected"),
    [
        ({"A": "A (set)", "B": "A (set)"}, None),
        ({"A": "A (set)", "B": "B"}, reasons.ACROSS),
        ({"B": "A (set)"}, reasons.ACROSS),
    ],
)
def test_violation_across_objects_counts_only_inside_one_set(sets: dict[str, str], expected: str | None) -> None:
    assert why(within(finding(ACROSS), **sets)) == expected


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        # write skew: neither transaction alone is to blame
        ("T@0 read A.x > U@3 write A.x > U@2 read A.y > T@4 write A.y", None),
        ("T@0 read A.x > U@3 write A.x > U@2 read B.y > T@4 write B.y", reasons.ACROSS),
        ("T@0 release m > U@3 acquire m > U@2 read A.y > T@4 write A.y", reasons.NOBODY),
    ],
)
def test_cycle_without_a_blamed_transaction_is_judged_by_its_data(path: str, expected: str | None) -> None:
    judged = judge(Violations(of_transactions=[finding(path, "cycle")]), Evidence(is_ours=ours))
    assert [one.why for one in judged] == [expected]


def test_violation_of_a_marked_region_is_always_a_finding() -> None:
    violation = finding("T release m > U acquire m > T acquire m")
    for is_ours in (lambda name: False, None):
        assert judge(Violations(of_transactions=[violation]), Evidence(is_ours=is_ours)) == [violation]


# ---- with the regions around the steps

LOST = "T read A.x > U write A.x > T write A.x"


def around(unit: EnclosingRegion, *inner: EnclosingRegion | None) -> dict[int, list[EnclosingRegion]]:
    """The unit encloses both accesses of T, events 0 and 2, and an inner region may enclose each of them."""
    return {event: [unit, *([own] if own else [])] for event, own in zip((0, 2), inner, strict=True)}


GET, SET = EnclosingRegion("m:A.get", "function", False, 1), EnclosingRegion("m:A.set", "function", False, 2)


@pytest.mark.parametrize(
    ("unit", "inner", "expected"),
    [
        (EnclosingRegion("m:f", "function", False, 0), (GET, SET), reasons.NO_FLOW),
        (EnclosingRegion("m:f/loop:3", "loop", False, 0), (GET, SET), reasons.NO_FLOW),
        (EnclosingRegion("m:f", "function", True, 0), (GET, SET), None),
        (EnclosingRegion("m:f", "function", False, 0, between=(frozenset({"get", "set"}),)), (GET, SET), None),
        (EnclosingRegion("m:f", "function", False, 0, between=(frozenset({"get"}),)), (GET, SET), reasons.NO_FLOW),
        (EnclosingRegion("m:f", "function", False, 0), (None, SET), None),
        (
            EnclosingRegion("m:f", "function", False, 0),
            (None, EnclosingRegion("m:f/with:4", "lock-block", False, 2)),
            None,
        ),
        (EnclosingRegion("m:A.both", "function", False, 0), (GET, SET), None),
        (EnclosingRegion("m:B.both", "function", False, 0), (GET, SET), reasons.NO_FLOW),
    ],
    ids=[
        "two calls",
        "two calls in a loop round",
        "dataflow",
        "dataflow between these properties",
        "dataflow between other properties",
        "own code and a call",
        "own code and own lock block",
        "method of the object",
        "method of another class",
    ],
)
def test_calls_without_dataflow_are_not_one_unit_of_work(
    unit: EnclosingRegion, inner: tuple[EnclosingRegion | None, ...], expected: str | None
) -> None:
    in_functions = [name_of(region or unit) for region in inner]
    assert why_around(written_in(finding(LOST), in_functions), around(unit, *inner)) == expected


def name_of(region: EnclosingRegion) -> str:
    return region.name.partition(":")[2].partition("/")[0]


def written_in(given: Finding, functions: list[str]) -> Finding:
    """The two accesses of T are in these functions."""
    one, two, three = given.witness
    sites = [
        step.site and replace(step.site, function=name) for step, name in zip((one, three), functions, strict=True)
    ]
    return replace(given, witness=(replace(one, site=sites[0]), two, replace(three, site=sites[1])))


@pytest.mark.parametrize(
    ("functions", "expected"),
    [
        (["f", "f"], None),
        (["f", "g"], None),
        (["f.<locals>.<lambda>", "g"], None),
        # the callee is no region because it was declared not atomic; its code does not become that of `f`
        (["g", "g"], reasons.NO_FLOW),
        (["A.get", "A.set"], reasons.NO_FLOW),
    ],
)
def test_code_of_an_excluded_function_is_not_its_callers(functions: list[str], expected: str | None) -> None:
    unit = EnclosingRegion("m:f", "function", False, 0)
    assert why_around(written_in(finding(LOST), functions), around(unit, None, None)) == expected


FIRST = EnclosingRegion("m:A.handle", "function", False, 1, is_back=True)
SECOND = EnclosingRegion("m:A.handle", "function", False, 2, is_back=True)


@pytest.mark.parametrize(
    ("first", "last", "expected"),
    [
        ([FIRST], [SECOND], reasons.CALLED_BACK),
        ([FIRST], [], reasons.CALLED_BACK),
        ([FIRST, SECOND], [FIRST], reasons.CALLED_BACK),
        ([FIRST], [FIRST], None),
        ([FIRST, GET], [FIRST, SET], None),  # a method of the object is around both
        ([], [], None),
    ],
    ids=["two callbacks", "callback and caller", "nested callback", "one callback", "methods in one callback", "none"],
)
def test_accesses_in_different_library_callbacks_are_not_one_unit(
    first: list[EnclosingRegion], last: list[EnclosingRegion], expected: str | None
) -> None:
    serve = EnclosingRegion("m:A.serve", "function", False, 0)
    assert why_around(finding(LOST), {0: [serve, *first], 2: [serve, *last]}) == expected
    assert why_around(finding(LOST), {0: [serve, *first]}) is None


def test_violation_with_unknown_surroundings_is_a_finding() -> None:
    assert why_around(finding(LOST), {}) is None


CHECKED = "T read A.x > U write A.x > T read A.x"


@pytest.mark.parametrize(
    ("text", "first", "writer", "second", "expected"),
    [
        ("if self.x is None:", (), ("m",), ("m", 1), reasons.CHECKED_AGAIN),
        ("if self.x is None:", ("m",), ("m",), ("m", 1), None),
        ("x = self.x", (), ("m",), ("m", 1), None),
        ("if (x := self.x) is None:", (), ("m",), ("m", 1), None),
        ("if self.x is None:", (), (), ("m", 1), None),
        ("if self.x is None:", (), ("other",), ("m", 1), None),
        ("if self.x is None:", (), ("m",), ("m", -1), None),
        ("if self.x is None:", (), ("m",), None, None),
    ],
    ids=[
        "correct",
        "first check under the lock too",
        "value kept by assignment",
        "value kept by walrus",
        "written without the lock",
        "written under another lock",
        "lock not taken in between",
        "second check without a lock",
    ],
)
def test_only_correct_double_checked_locking_is_a_note(
    text: str,
    first: tuple[str, ...],
    writer: tuple[str, ...],
    second: tuple[str, int] | None,
    expected: str | None,
) -> None:
    given = finding(CHECKED)
    one, two, three = given.witness
    site = one.site and replace(one.site, text=text)
    again = three.site and replace(three.site, text="if self.x is None:")
    steps = (
        replace(one, site=site, holds=tuple(Hold(lock, -1) for lock in first)),
        replace(two, holds=tuple(Hold(lock, 0) for lock in writer)),
        replace(three, site=again, holds=(Hold(*second),) if second else ()),
    )
    look = ConditionRead(one.number, one.target, three.number)
    checked = RepeatedRead(three.number, "if self.x is None:", steps[2].holds or ())
    assert why_around(replace(given, witness=steps), {}, {look: checked}) == expected
    # the second read must be a mere check, too
    used = checked._replace(text="self.x -= 1")
    assert why_around(replace(given, witness=steps), {}, {look: used}) is None
    assert why_around(replace(given, witness=steps), {}) is None


CALL, BLOCK = EnclosingRegion("m:A.get", "function", True, 0), EnclosingRegion("m:A.get/with", "lock-block", False, 2)


@pytest.mark.parametrize(
    ("text", "then", "expected"),
    [
        ("return self.x", [CALL, BLOCK], reasons.CHECKED_AGAIN),
        ("return self.x", [CALL._replace(since=5), BLOCK], None),
        ("return self.x", [], None),
        ("x = self.x", [CALL, BLOCK], None),
    ],
    ids=["checked in the same call", "checked in another call", "checked after the call", "value kept by assignment"],
)
def test_return_that_raised_and_check_under_the_lock_is_a_note(
    text: str, then: list[EnclosingRegion], expected: str | None
) -> None:
    given = finding(CHECKED)
    one, two, three = given.witness
    steps = (
        replace(one, site=one.site and replace(one.site, text=text), holds=()),
        replace(two, holds=(Hold("m", 0),)),
        replace(three, holds=(Hold("m", 1),)),
    )
    look = ConditionRead(one.number, one.target, three.number)
    checked = {look: RepeatedRead(three.number, "if self.x is None:", (Hold("m", 1),))}
    around = {one.number: [CALL], three.number: then}
    assert why_around(replace(given, witness=steps), around, checked) == expected


@pytest.mark.parametrize("text", ["while self.x is None:", "return self.x"])
def test_reads_in_conditions_and_returns_are_looks(text: str) -> None:
    given = finding(CHECKED)
    one, two, three = given.witness
    looked = replace(one, site=one.site and replace(one.site, text=text))
    assert condition_reads(replace(given, witness=(looked, two, three))) == [
        ConditionRead(one.number, one.target, three.number)
    ]
    assert condition_reads(given) == []


@pytest.mark.parametrize(
    ("unit", "expected"),
    [("m:A.move", None), ("m:Base.move", None), ("m:D.move", reasons.NO_FLOW), ("m:f", reasons.NO_FLOW)],
)
def test_method_of_the_sets_owner_is_a_unit_on_the_whole_set(unit: str, expected: str | None) -> None:
    lost = finding("T read B.y > U write B.y > T write B.y")
    inner = (EnclosingRegion("m:B.get", "function", False, 1), EnclosingRegion("m:B.set", "function", False, 2))
    regions = around(EnclosingRegion(unit, "function", False, 0), *inner)
    assert why_around(lost, regions) == reasons.NO_FLOW
    assert why_around(within(lost, B="A (set)"), regions) == expected
