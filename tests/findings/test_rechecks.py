"""Checked again: what counts as the same condition, checked again, and what does not.

Each test records a small program: one thread does `unit`, and where that says `turn()`, another does `other`.
"""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from atomsan.findings import reasons
from findings.staged import staged

OTHER = """
with box.lock:
    if box.made is None:
        box.made = 5
        box.y = 6
"""


@pytest.fixture(autouse=True)
def _own_cache(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ATOMSAN_CACHE", str(tmp_path_factory.getbasetemp() / "atomsan-cache"))


def whys(directory: Path, unit: str, more: str = "") -> set[str | None]:
    """Why the violations of a program are no findings; None for those that are."""
    report = staged(directory, unit, OTHER, more)
    judged = [*report.findings, *report.suspects, *report.notes]
    assert judged
    return {one.why for one in judged}


def function(body: str) -> str:
    return "def work():\n" + textwrap.indent(textwrap.dedent(body).strip(), "    ")


AGAIN = {reasons.CHECKED_AGAIN.why}

# ---- what the later check decides: what is done if it holds, or what is behind it if that is to leave

RESULTS = {
    "is returned": "        if box.made is None:\n            return box.y",
    "is returned at the end": "        if box.made is not None:\n            return box.made\n        box.made = 3\n"
    "return box.made",
    "the value is returned either way": "        value = box.made\n        if value is None:\n"
    "            value = box.made = 3\n        return value\nreturn box.made",
    "nothing is returned either way": "        y = box.y\n        if box.made is None:\n            box.made = y + 1",
    "no is returned either way": "        if box.made is None:\n            box.made = 3\n"
    "            return True\nreturn False",
}
TOLD = {
    "what is there if the later check fails, else nothing": "        if box.made is not None:\n"
    "            return box.made\n        box.made = 3\n    return box.made",
    "another location": "        if box.made is None:\n            box.made = 3\n        return box.y",
    "another location, at the end": "        y = box.y\n        if box.made is None:\n            box.made = 3\n"
    "else:\n    y = None\nreturn y",
    "yes, though nothing was done": "        if box.made is None:\n            box.made = 3\n    return True",
}
OTHER_RESULTS = {
    "another is returned": "        if box.made is None:\n            return box.y\n        return -1",
    "the opposite is checked": "        if box.made is not None:\n            return box.y",
    "something is done else": "        if box.made is None:\n            return box.y\n"
    "        else:\n            box.x = 3",
    "something is done behind": "        if box.made is None:\n            return box.y\n    box.x = 3",
}
FIRST = "if box.made is None:\n    turn()\n    with box.lock:\n"


@pytest.mark.parametrize("name", RESULTS)
def test_result_rests_on_the_later_check(name: str, tmp_path: Path) -> None:
    assert whys(tmp_path, "other_box.x = work()", function(FIRST + RESULTS[name])) == AGAIN


@pytest.mark.parametrize("name", TOLD)
def test_what_is_returned_tells_which_check_has_failed(name: str, tmp_path: Path) -> None:
    found = whys(tmp_path, "other_box.x = work()", function(FIRST + TOLD[name]))
    assert found == {reasons.CHECKED_AND_COUNTED.why}


@pytest.mark.parametrize("name", OTHER_RESULTS)
def test_result_of_the_first_check_alone_is_found(name: str, tmp_path: Path) -> None:
    assert None in whys(tmp_path, "other_box.x = work()", function(FIRST + OTHER_RESULTS[name]))


@pytest.mark.parametrize(
    "body",
    [
        FIRST + "        if box.made is None:\n            box.made = 3\n        box.x = 3",
        FIRST + "        if box.made is None:\n            box.made = 3\n    box.x *= 3",
        FIRST + "        box.x = 3\n        if box.made is None:\n            box.made = 3",
        FIRST + "        if box.made is None:\n            box.made = 3\n        else:\n            box.x = 3",
        FIRST + "        if box.made is None:\n            box.made = 3\n    return 'made'\nreturn 'had'",
        "if box.made is not None:\n    return 'had'\nturn()\nwith box.lock:\n"
        "    if box.made is None:\n        box.made = 3\nreturn 'made'",
        "if box.made is not None:\n    return\nturn()\nwith box.lock:\n"
        "    if box.made is None:\n        box.made = 3\nbox.x = 3",
    ],
)
def test_what_the_first_check_alone_decides_is_found(body: str, tmp_path: Path) -> None:
    assert None in whys(tmp_path, "other_box.x = work()", function(body))


@pytest.mark.parametrize(
    "body",
    [
        "if box.made is not None:\n    return True\nturn()\nwith box.lock:\n"
        "    if box.made is None:\n        box.made = 3\nreturn True",
        "if box.made is not None:\n    return False\nturn()\nwith box.lock:\n"
        "    if box.made is not None:\n        return False\n    box.made = 3\nreturn True",
        FIRST + "        if box.made is None:\n            box.made = 3\n            return True\nreturn False",
    ],
)
def test_results_may_be_literals(body: str, tmp_path: Path) -> None:
    assert whys(tmp_path, "other_box.x = work()", function(body)) == AGAIN


@pytest.mark.parametrize(
    "body",
    [
        FIRST + "        box.x += 1\n        if box.made is None:\n            box.made = 3",
        FIRST + "        if box.made is None:\n            box.made = 3\n        else:\n            box.x += 1",
        "if box.made is not None:\n    return\nbox.x += 1\nturn()\nwith box.lock:\n"
        "    if box.made is None:\n        box.made = 3",
    ],
)
def test_what_the_first_check_alone_counts_makes_a_suspect(body: str, tmp_path: Path) -> None:
    assert whys(tmp_path, "other_box.x = work()", function(body)) == {reasons.CHECKED_AND_COUNTED.why}


# ---- values that are kept in boxes

CLASSES = """
import dataclasses, types

@dataclasses.dataclass
class Held:
    value: object
    other: object = None

class Given:
    def __init__(self, value, other=None):
        self.value = value
        self.other = other

class Plain:
    pass

def show(value):
    pass
"""
# how a value is put into a box, and how it is used there
BOXES = {
    "namespace": ("kept = types.SimpleNamespace(value=box.made)", "kept.value"),
    "dataclass": ("kept = Held(box.made)", "kept.value"),
    "dataclass, by name": ("kept = Held(value=box.made)", "kept.value"),
    "object": ("kept = Given(box.made)", "kept.value"),
    "attribute": ("kept = Plain(); kept.value = box.made", "kept.value"),
    "list": ("kept = [box.made]", "kept[0]"),
    "append": ("kept = []; kept.append(box.made)", "kept[-1]"),
    "tuple": ("kept = (0, box.made)", "kept[1]"),
    "dict": ("kept = {'value': box.made}", "kept['value']"),
    "dict()": ("kept = dict(value=box.made)", "kept['value']"),
    "item": ("kept = {}; kept['value'] = box.made", "kept['value']"),
}
LATER = "    turn()\n    with box.lock:\n"
ACT = "        if box.made is None:\n            box.made = 3\n"


def later_in_box(keeping: str, condition: str) -> str:
    return FIRST + f"        {keeping}\n        if {condition}:\n            box.made = 3\n"


@pytest.mark.parametrize("name", BOXES)
def test_value_may_be_kept_in_a_box(name: str, tmp_path: Path) -> None:
    keeping, value = BOXES[name]
    assert whys(tmp_path, f"{keeping}\nif {value} is None:\n{LATER}{ACT}", CLASSES) == AGAIN
    assert whys(tmp_path, later_in_box(keeping, f"{value} is None"), CLASSES) == AGAIN


@pytest.mark.parametrize("name", BOXES)
@pytest.mark.parametrize(
    "more",
    ["", "        other_box.made = {}", "        show({})", "        show(kept)", "        other_box.made = kept"],
    ids=["weaker", "stored", "passed", "box passed", "box stored"],
)
def test_value_in_a_box_that_does_more_than_decide_is_found(name: str, more: str, tmp_path: Path) -> None:
    keeping, value = BOXES[name]
    act = f"{ACT}{more.format(value)}" if more else ACT.replace("is None", "!= 7")
    assert None in whys(tmp_path, f"{keeping}\nif {value} is None:\n{LATER}{act}", CLASSES)


@pytest.mark.parametrize("name", BOXES)
def test_weaker_later_check_in_a_box_is_found(name: str, tmp_path: Path) -> None:
    keeping, value = BOXES[name]
    assert None in whys(tmp_path, later_in_box(keeping, f"{value} != 7"), CLASSES)


@pytest.mark.parametrize(
    ("keeping", "value"),
    [
        ("kept = types.SimpleNamespace(value=box.made, other=other_box.made)", "kept.other"),
        ("kept = Held(box.made, other_box.made)", "kept.other"),
        ("kept = Given(other=other_box.made, value=box.made)", "kept.other"),
        ("kept = Given(box.made)", "kept.other"),
        ("kept = Plain(); kept.value = box.made; kept.other = other_box.made", "kept.other"),
        ("kept = types.SimpleNamespace(value=box.made); kept.value = other_box.made", "kept.value"),
        ("kept = [box.made, other_box.made]", "kept[1]"),
        ("kept = [box.made, other_box.made]", "kept[-1]"),
        ("kept = []; kept.append(box.made); kept.append(other_box.made)", "kept[-1]"),
        ("kept = (box.made, None)", "kept[1]"),
        ("kept = {'value': box.made, 'other': other_box.made}", "kept['other']"),
        ("kept = {'value': box.made}; kept['value'] = other_box.made", "kept['value']"),
        ("kept = {'value': box.made}", "kept.get('other')"),
        ("kept = box.made and None", "kept"),
        ("kept = (box.made,)[:0] or None", "kept"),
    ],
)
def test_check_of_another_part_is_no_check_of_the_value(keeping: str, value: str, tmp_path: Path) -> None:
    assert None in whys(tmp_path, later_in_box(keeping, f"{value} is None"), CLASSES)


# ---- values that go up

YIELDING = "def values():\n    yield box.made\n"


@pytest.mark.parametrize("taking", ["next(values())", "list(values())[0]", "values().send(None)"])
def test_value_may_be_yielded(taking: str, tmp_path: Path) -> None:
    assert whys(tmp_path, f"value = {taking}\nif value is None:\n{LATER}{ACT}", YIELDING) == AGAIN
    other = ACT.replace("is None", "!= 7")
    assert None in whys(tmp_path, f"value = {taking}\nif value is None:\n{LATER}{other}", YIELDING)


def test_value_that_is_yielded_and_stored_is_not_checked_again(tmp_path: Path) -> None:
    unit = "value = next(values())\nother_box.x = value\nturn()\nwith box.lock:\n"
    assert whys(tmp_path, unit + ACT, YIELDING).isdisjoint(AGAIN)


def test_result_that_is_made_of_the_value_is_not_the_value(tmp_path: Path) -> None:
    for result in ("(box.made,)", "box.made or 1", "[box.made]", "1 if box.made is None else None"):
        more = f"def value():\n    return {result}"
        unit = f"if value() is not None:\n{LATER}{ACT.replace('is None', 'is not None')}"
        assert whys(tmp_path, unit, more).isdisjoint(AGAIN), result


@pytest.mark.parametrize("part", ["kept.value", "kept[0]", "kept.value.value"])
def test_part_of_a_value_is_not_the_value(part: str, tmp_path: Path) -> None:
    more = """
    class Part:
        value = None
        def __getitem__(self, key):
            return None
    Part.value = Part()
    Part.value.value = None
    box.made = Part()
    """
    condition = f"{part} is None" if part != "kept.value" else f"{part} is not None"
    act = ACT if part != "kept.value" else ACT.replace("is None", "is not None")
    report = staged(
        tmp_path,
        f"kept = box.made\nif {condition}:\n{LATER}{act}",
        "with box.lock:\n    box.made = None if box.made is not None else 3",
        more,
    )
    assert report.findings


RAISING = """
class Answer(Exception):
    pass

class Value(Exception):
    def __init__(self, value):
        self.value = value

class Doubled(Exception):
    def __init__(self, value):
        self.value = value
        self.args = (value, value)

class Hidden(Exception):
    @property
    def args(self):
        return (None,)

def ask():
    value = box.made
    raise {}({})
"""
EXCEPTIONS = {
    "plain": ("Answer", ".args[0]"),
    "attribute": ("Value", ".value"),
    "arguments of one with an attribute": ("Value", ".args[0]"),
    "built-in": ("LookupError", ".args[0]"),
}


def caught(kind: str, part: str, act: str, more: str = "") -> str:
    taken = f"try:\n    ask()\nexcept {kind} as answer:\n    value = answer{part}\n{more}"
    return f"{taken}if value is None:\n{LATER}{act}"


@pytest.mark.parametrize("name", EXCEPTIONS)
def test_value_may_be_raised(name: str, tmp_path: Path) -> None:
    kind, part = EXCEPTIONS[name]
    more = RAISING.format(kind, "value")
    assert whys(tmp_path, caught(kind, part, ACT), more) == AGAIN
    for act in (ACT.replace("is None", "!= 7"), ACT + "        other_box.x = value\n", ACT + "        box.x = 3"):
        assert None in whys(tmp_path, caught(kind, part, act), more)
    assert None in whys(tmp_path, caught(kind, part, ACT, "    other_box.made = answer\n"), more)


@pytest.mark.parametrize(
    ("kind", "given", "part"),
    [
        ("Answer", "value", ".__cause__"),
        ("Answer", "None, value", ".args[0]"),
        ("Answer", "value and None", ".args[0]"),
        ("Value", "value", ".__context__"),
        ("Doubled", "value", ".args[0]"),
        ("Hidden", "value", ".args[0]"),
    ],
)
def test_other_part_of_an_exception_is_not_the_value(kind: str, given: str, part: str, tmp_path: Path) -> None:
    assert whys(tmp_path, caught(kind, part, ACT), RAISING.format(kind, given)).isdisjoint(AGAIN)


def test_exception_of_another_call_is_not_the_value(tmp_path: Path) -> None:
    more = RAISING.format("Answer", "value").replace("raise", "return") + "\ndef fail():\n    raise Answer(None)\n"
    unit = caught("Answer", ".args[0]", ACT).replace("    ask()\n", "    ask()\n    fail()\n")
    assert whys(tmp_path, unit, more).isdisjoint(AGAIN)


# ---- values that are passed down

ACTING = """
import functools

def show(value):
    pass

class Doing:
    def act({}):
        if value is None:
            turn()
            with box.lock:
                if box.made is None:
                    box.made = 3
    value = property(fset=act)

    @staticmethod
    def only(value, more=None):
        doing.act(value)

    def on(self, value):
        self.act(value)

doing = Doing()

def make(is_missing):
    if is_missing:
        turn()
        with box.lock:
            if box.made is None:
                box.made = 3
"""
ONE, THREE = "self, value", "self, one, value, more=None"


@pytest.mark.parametrize(
    ("passing", "parameters"),
    [
        ("doing.act(value)", ONE),
        ("doing.act(value=value)", ONE),
        ("doing.act(1, value)", THREE),
        ("doing.act(more=box.lock, value=value, one=1)", THREE),
        ("doing.value = value", ONE),
        ("doing.only(value)", ONE),
        ("doing.on(value)", ONE),
        ("functools.partial(doing.act, value)()", ONE),
        ("functools.partial(doing.act, 1)(value)", THREE),
        ("functools.partial(doing.act, value=value)(1)", THREE),
        ("later = functools.partial(doing.act, 1, value)\nlater()", THREE),
        ("is_missing = value is None\nmake(is_missing)", ONE),
        ("make(not (value is not None))", ONE),
    ],
)
def test_value_may_be_passed_to_the_later_check(passing: str, parameters: str, tmp_path: Path) -> None:
    assert whys(tmp_path, f"value = box.made\n{passing}", ACTING.format(parameters)) == AGAIN


@pytest.mark.parametrize(
    ("passing", "parameters"),
    [
        ("doing.act(value)\nother_box.made = value", ONE),
        ("doing.act(value, None)", THREE),
        ("doing.act(value, None)", "self, *values, value=None"),
        ("doing.act(None, more=value)", "self, value, more=None"),
        ("doing.only(None, value)", ONE),
        ("functools.partial(doing.act, value)(None)", THREE),
        ("later = functools.partial(doing.act, value)\nlater()\nshow(later)", ONE),
        ("make(value is not True)", ONE),
        ("make(not value)", ONE),
        ("make([value])", ONE),
        ("make(str(value))", ONE),
    ],
)
def test_value_that_is_passed_as_something_else_is_not_checked_again(
    passing: str, parameters: str, tmp_path: Path
) -> None:
    assert whys(tmp_path, f"value = box.made\n{passing}", ACTING.format(parameters)).isdisjoint(AGAIN)


def test_value_that_is_passed_and_used_there_is_found(tmp_path: Path) -> None:
    for use in ("other_box.made = value", "show(value)", "return value"):
        more = ACTING.format(ONE).replace("    value = property", f"        {use}\n    value = property")
        assert None in whys(tmp_path, "value = box.made\nother_box.x = doing.act(value)", more), use


# ---- conditions with parameters


def limited(first: str, again: str, between: str = "") -> str:
    lines = [
        "number = box.x",
        f"if {first}:",
        "    turn()",
        *([f"    {between}"] if between else []),
        "    with box.lock:",
    ]
    body = "\n".join([*lines, f"        if {again}:", "            box.x = 7"])
    return function(body).replace("work()", "work(goal, top=100)")


def judged(directory: Path, more: str) -> set[str | None]:
    report = staged(directory, "other_box.y = work(5)", "with box.lock:\n    box.x += 1", more)
    return {one.why for one in (*report.findings, *report.suspects, *report.notes)}


@pytest.mark.parametrize(
    ("first", "again"), [("number < goal", "box.x < goal"), ("goal > number", "not box.x >= goal")]
)
def test_value_may_be_compared_with_a_parameter(first: str, again: str, tmp_path: Path) -> None:
    assert judged(tmp_path, limited(first, again)) == AGAIN


@pytest.mark.parametrize(
    ("again", "between"),
    [("box.x < top", ""), ("box.x <= goal", ""), ("box.x < goal", "goal = 100"), ("box.x < goal", "goal += top")],
)
def test_other_parameter_is_another_condition(again: str, between: str, tmp_path: Path) -> None:
    assert None in judged(tmp_path, limited("number < goal", again, between))


def test_parameter_of_another_call_is_another_condition(tmp_path: Path) -> None:
    more = """
    def work(goal, is_first=True):
        if is_first:
            number = box.x
            if number < goal:
                turn()
                work(100, False)
        else:
            with box.lock:
                if box.x < goal:
                    box.x = 7
    """
    assert None in judged(tmp_path, more)


def test_container_in_a_global_variable_may_be_checked_again(tmp_path: Path) -> None:
    again = "if not jobs:\n    return False\nturn()\nwith box.lock:\n    if not {}:\n        return False\n"
    for checked, is_same in (("jobs", True), ("others", False)):
        more = "jobs, others = [1], []\n" + function(again.format(checked) + "    jobs.pop()\nreturn True")
        report = staged(tmp_path, "other_box.x = work()", "with box.lock:\n    jobs.append(2)", more)
        judged = {one.why for one in (*report.findings, *report.suspects, *report.notes)}
        assert (judged == AGAIN) is is_same


# ---- conditions on several values


def both(first: str, again: str) -> str:
    return f"""
    box.y = box.names = 9
    def work(price, self=box):
        if {first}:
            turn()
            with self.lock:
                if {again}:
                    self.x = 7
    """


def unless(first: str, again: str) -> str:
    return f"""
    def work(price, self=box):
        if {first}:
            return False
        turn()
        with self.lock:
            if {again}:
                return False
            self.x = 7
            return True
    """


@pytest.mark.parametrize(
    "more",
    [
        both("self.made is None and self.x < price", "self.made is None and self.x < price"),
        both("self.made is None and self.x < price", "not self.x >= price and self.made is None"),
        both("not (self.made or self.x >= price)", "not self.made and self.x < price"),
        both("self.x < price", "self.made is None and self.x < price"),
        both("self.x < self.y", "self.x < self.y"),
        both("self.made is None and self.x < self.y", "self.made is None and self.y > self.x"),
        unless("self.made or self.x >= price", "self.made or self.x >= price"),
        unless("self.x >= price", "self.made or self.x >= price"),
    ],
)
def test_condition_may_be_on_several_values(more: str, tmp_path: Path) -> None:
    assert judged(tmp_path, more) == AGAIN


@pytest.mark.parametrize(
    "more",
    [
        both("self.x < price", "self.made is None or self.x < price"),
        both("self.x < price", "self.x < price or self.made is None"),
        both("self.x < price or self.made", "self.x < price or self.made is None"),
        both("self.made is None and self.x < price", "self.made is None"),
        both("self.made is None and self.x < price", "self.made is None and (self.x < price or self.y)"),
        both("self.x < self.y", "self.x < self.names"),
        both("self.x < self.y", "self.x <= self.y"),
        both("self.x < price and self.items is not None", "self.x < price + 1 and self.items is not None"),
        unless("self.made or self.x >= price", "self.made and self.x >= price"),
        both("self.x < price and not self.items.append(1)", "self.x < price"),
    ],
)
def test_other_condition_on_several_values_is_found(more: str, tmp_path: Path) -> None:
    assert None in judged(tmp_path, more)


def test_result_that_is_the_first_or_the_later_value_is_found(tmp_path: Path) -> None:
    body = "value, later = box.made, None\n" + FIRST.replace("box.made", "value")
    body += "        later = box.made\n        if later is None:\n            box.made = 3\nreturn {}"
    for result in ("value or later", "value if later is None else later", "(value, later)"):
        assert None in whys(tmp_path, "other_box.x = work()", function(body.format(result))), result


# ---- hits and misses beside it, a walrus, a clock, a part of what was read

CACHE = """
import time
box.counts = {"hits": 0, "misses": 0}
box.made = None
def peek():
    with box.lock:
        value = box.made
        box.counts["hits" if value is not None else "misses"] += 1
        return value
def add(value):
    with box.lock:
        if box.made is None:
            box.made = value
        return box.made
"""
LOOKED_UP = """
value = peek()
if value is None:
    turn()
    value = add(3)
return value
"""


def test_hits_and_misses_may_be_counted_in_a_helper(tmp_path: Path) -> None:
    assert whys(tmp_path, LOOKED_UP, CACHE) == {reasons.CHECKED_AND_COUNTED.why}


def test_count_may_be_spelled_out(tmp_path: Path) -> None:
    body = (
        FIRST + "        if box.made is None:\n            box.made = 3\n        else:\n            box.x = box.x + 1"
    )
    spelled = whys(tmp_path, "other_box.x = work()", function(body))
    assert spelled == whys(tmp_path, "other_box.x = work()", function(body.replace("box.x = box.x + 1", "box.x += 1")))
    assert None not in spelled


def test_what_is_counted_in_a_helper_must_be_a_count(tmp_path: Path) -> None:
    other = CACHE.replace('["hits" if value is not None else "misses"] += 1', '["hits"] = value is None')
    assert None in whys(tmp_path, LOOKED_UP, other)


@pytest.mark.parametrize(
    ("first", "then"),
    [
        ("(value := box.made) is None", "(value := box.made) is None"),
        ("(value := box.made) is None", "box.made is None"),
        ("box.made is None", "(value := box.made) is None"),
    ],
)
def test_walrus_in_a_check(first: str, then: str, tmp_path: Path) -> None:
    body = f"if {first}:\n    turn()\n    with box.lock:\n        if {then}:\n            box.made = 3\nreturn box.y"
    assert whys(tmp_path, "other_box.x = work()", function(body)) == AGAIN


LEASE = """
import time
box.made = (0.0, "old")
"""
RENEWED = "with box.lock: box.made = (time.monotonic() + 60, 'new')"


@pytest.mark.parametrize(
    ("first", "then", "why"),
    [
        ("box.y < time.monotonic()", "box.y < time.monotonic()", reasons.CHECKED_AGAIN.why),
        ("box.y < time.monotonic()", "box.y < time.time()", reasons.CHECKED_AGAIN.why),
        ("box.y < time.monotonic()", "box.y > time.monotonic()", None),
    ],
)
def test_time_in_a_check(first: str, then: str, why: str | None, tmp_path: Path) -> None:
    unit = f"if {first}:\n    turn()\n    with box.lock:\n        if {then}: box.y = 7e9"
    report = staged(tmp_path, unit, "with box.lock: box.y = -1", LEASE)
    assert why in {one.why for one in (*report.findings, *report.notes)}


@pytest.mark.parametrize(
    ("then", "why"),
    [
        ("until < time.monotonic()", reasons.CHECKED_ALIKE.why),
        ("until is not None", None),
        ("value == 'old'", None),
    ],
)
def test_part_that_is_checked_again(then: str, why: str | None, tmp_path: Path) -> None:
    unit = f"""
until, value = box.made
if until < time.monotonic():
    turn()
    with box.lock:
        until, value = box.made
        if {then}:
            box.made = (time.monotonic() + 60, "mine")
"""
    report = staged(tmp_path, unit, RENEWED, LEASE)
    assert {one.why for one in (*report.findings, *report.suspects)} == {why}


JOINED = "        if {}:\n            box.made = 3"
SAME = {
    "the last part is not looked at any more": ("box.made is None and box.y < 3", "box.made is None and box.y < 3"),
    "by or": ("box.made is None or box.y < 3", "box.made is None or box.y < 3"),
    "by or, with a local": ("(y := box.y) < 3 or box.made is None", "(z := box.y) < 3 or box.made is None"),
    "in a function": ("is_free()", "is_free()"),
    "in a function, and more": ("is_free() or box.x", "is_free() or box.x"),
}
NOT_SAME = {
    "a weaker part": ("box.made is None and box.y < 3", "box.made is None and box.y < 9"),
    "another part": ("box.made is None or box.y < 3", "box.made is None or box.x < 3"),
    "one part is missing": ("box.made is None or box.y < 3", "box.made is None"),
    "the other way": ("box.made is None and box.y < 3", "box.made is None or box.y < 3"),
    "another function": ("is_free() and not box.x", "is_open() and not box.x"),
}
FREE = """
def is_free():
    return box.made is None or box.y < 3

def is_open():
    return box.made is None or box.y < 9
"""


@pytest.mark.parametrize("name", SAME)
def test_condition_of_several_parts_is_checked_again(name: str, tmp_path: Path) -> None:
    first, then = SAME[name]
    body = FIRST.replace("box.made is None", first) + JOINED.format(then)
    assert None not in whys(tmp_path, "work()", FREE + function(body))


@pytest.mark.parametrize("name", NOT_SAME)
def test_other_condition_of_several_parts_is_found(name: str, tmp_path: Path) -> None:
    first, then = NOT_SAME[name]
    body = FIRST.replace("box.made is None", first) + JOINED.format(then)
    assert None in whys(tmp_path, "work()", FREE + function(body))


@pytest.mark.parametrize("more", ["\n        box.x = 3", "\n        return box.y\n    return None"])
def test_condition_of_several_parts_decides_on_more(more: str, tmp_path: Path) -> None:
    test = "box.made is None or box.y < 3"
    body = FIRST.replace("box.made is None", test) + JOINED.format(test) + more
    assert None in whys(tmp_path, "other_box.x = work()", function(body))


GIVEN = {
    "captured": "value = box.made\ndef fill():\n    {}\nturn()\nrun(fill)",
    "captured by a lambda": "value = box.made\nturn()\nrun(lambda: fill(value))",
    "by default": "value = box.made\ndef fill(value=value):\n    {}\nturn()\nfill()",
    "to a generator": "def fill(value):\n    {}\n    yield\nvalue = box.made\nturn()\nlist(fill(value))",
    "by a library": "def fill(value):\n    {}\nvalue = box.made\nturn()\nlist(map(fill, (value,)))",
}
FILL = """
def run(action):
    return action()

def fill(value):
    if value is None:
        with box.lock:
            if box.made is None:
                box.made = 3
"""
INSIDE = "    if {}:\n        with box.lock:\n            if box.made is None:\n                box.made = {}"


@pytest.mark.parametrize("name", GIVEN)
def test_value_is_given_and_checked_again(name: str, tmp_path: Path) -> None:
    body = GIVEN[name].format(INSIDE.format("value is None", "3").strip())
    assert None not in whys(tmp_path, "work()", FILL + function(body))


@pytest.mark.parametrize("name", [name for name in GIVEN if "{}" in GIVEN[name]])
@pytest.mark.parametrize(
    ("first", "stored"),
    [("value != 5", "3"), ("value is None", "value"), ("not value or box.x", "3"), ("True", "value")],
)
def test_value_is_given_and_used_otherwise(name: str, first: str, stored: str, tmp_path: Path) -> None:
    body = GIVEN[name].format(INSIDE.format(first, stored).strip())
    assert None in whys(tmp_path, "work()", FILL + function(body))


def test_value_is_given_and_also_used(tmp_path: Path) -> None:
    body = GIVEN["captured"].format(INSIDE.format("value is None", "3").strip()) + "\nbox.x = value"
    assert None in whys(tmp_path, "work()", FILL + function(body))


@pytest.mark.parametrize("name", ["latest", "LATEST", "self.latest", "self.LATEST"])
def test_name_in_capitals_may_be_a_value(name: str, tmp_path: Path) -> None:
    more = f"""
LATEST = latest = -1

class Marks:
    latest = LATEST = -1

    def see(self, mark):
        global latest, LATEST
        if mark > {name}:
            turn()
            with box.lock:
                if mark > {name}:
                    {name} = mark

marks = Marks()
"""
    report = staged(tmp_path, "marks.see(3)", "marks.see(5)", more)
    assert not report.findings
    assert {note.why for note in report.notes} == AGAIN


def test_name_in_capitals_beside_a_value_is_no_value(tmp_path: Path) -> None:
    more = "MOST = 3\n" + function(
        "if box.y < MOST:\n    turn()\n    with box.lock:\n        if box.y < MOST:\n            box.y = 5"
    )
    report = staged(tmp_path, "work()", "with box.lock:\n    box.y = 4", more)
    assert not report.findings
    assert {note.why for note in report.notes} == AGAIN


@pytest.mark.parametrize(("counted", "why"), [("1", reasons.CHECKED_AND_COUNTED.why), ("len('page')", None)])
def test_what_is_measured_is_no_count(counted: str, why: str | None, tmp_path: Path) -> None:
    body = FIRST + f"        box.x += {counted}\n        if box.made is None:\n            box.made = 3"
    assert why in whys(tmp_path, "work()", function(body))


def test_lock_around_what_is_idempotent(tmp_path: Path) -> None:
    more = function("if not box.x:\n    turn()\n    with box.lock:\n        box.x = True")
    report = staged(tmp_path, "work()", "with box.lock:\n    box.x = True", more)
    assert not report.findings


def test_return_under_a_lock_leaves_the_branch(tmp_path: Path) -> None:
    more = """
def get(key):
    if key in box.table:
        with box.lock:
            return box.table[key]
    turn()
    with box.lock:
        if key not in box.table:
            box.table[key] = 5
        return box.table[key]
"""
    assert not staged(tmp_path, "get(1)", "get(1)", more).findings
