"""The model of atomic sets: which locations belong together, and which regions are units on them."""

from __future__ import annotations

import pytest

from atomsan.checkers.sets import Marking, Objects, SetModel
from atomsan.trace.symbols import Symbols


def symbols(*variables: tuple[str, str | None, str, str | None], regions: dict[str, dict[str, str]]) -> Symbols:
    """Variables as (object, owner, field, class), and regions with what the recorder knows of them."""
    made = Symbols()
    for of, owner, field, kind in variables:
        facts = {"object": of, "owner": owner, "field": field, "class": kind}
        made.variables.intern(f"{kind}.{field} ({of})", **{name: value for name, value in facts.items() if value})
    for name, known in regions.items():
        made.regions.intern(name, **{"origin": "function"} | known)
    return made


ACCOUNT = [
    ("Account #1", None, "checking", "Account"),
    ("Account #1", None, "savings", "Account"),
    ("Account.items (Account #1)", "Account #1", "[...]", "Account.items"),
    ("Account #2", None, "checking", "Account"),
    ("bank", None, "total", "bank"),
]


def sets_by_variable(layout: Objects) -> list[list[str]]:
    model = SetModel(symbols(*ACCOUNT, regions={}), layout)
    assert model.grow()
    assert not model.grow()
    return [
        [model.names[number] for number in model.sets[first:last]]
        for first, last in zip(model.offsets, model.offsets[1:], strict=False)
    ]


def test_an_object_is_a_set_with_the_containers_it_holds() -> None:
    assert sets_by_variable(Objects()) == [["Account #1"], ["Account #1"], ["Account #1"], ["Account #2"], ["bank"]]


def test_a_class_can_be_divided() -> None:
    layout = Objects(sets={"Acc*": ["checking", "items"]})
    assert sets_by_variable(layout) == [
        *(["Account #1 (set)"], ["Account #1.savings"], ["Account #1 (set)"], ["Account #2 (set)"], ["bank"]),
    ]


def test_a_class_can_have_several_sets_and_a_field_can_be_in_two() -> None:
    layout = Objects(sets={"Account:money": ["checking", "savings"], "Account:log": ["items", "savings"]})
    assert sets_by_variable(layout) == [
        ["Account #1 (money)"],
        ["Account #1 (money)", "Account #1 (log)"],
        ["Account #1 (log)"],
        ["Account #2 (money)"],
        ["bank"],
    ]


@pytest.mark.parametrize(
    ("region", "flow", "kinds"),
    [
        ("bank:Account.move", "", {"Account"}),
        ("bank:Base.move", "", {"Account"}),  # a method of a base class
        ("bank:move", "", set()),
        ("bank:move", "acc get set", {"Account"}),
        ("bank:move", "acc get set grow", {"Account"}),  # grow was not run
        ("bank:move", "acc get other", set()),  # of some other class
        ("bank:move", "acc get", {"Account"}),
        ("bank:move", "!acc get other", {"Account"}),  # the user said so
        ("bank:move", "!acc", {"Account", "bank"}),
    ],
)
def test_units(region: str, flow: str, kinds: set[str]) -> None:
    regions = {region: {"flow": flow} if flow else {}, "bank:Account.get": {}, "bank:Base.set": {}}
    model = SetModel(symbols(*ACCOUNT, regions=regions), Objects({"Account": ["Base"]}))
    model.grow()
    assert {model.kind_names[kind] for kind in model.on[0].nonzero()[0]} == kinds


def test_what_the_user_marked_is_a_unit_on_everything() -> None:
    made = symbols(*ACCOUNT, regions={"bank:move": {"origin": "annotated"}, "bank:f/with:3": {"origin": "lock-block"}})
    model = SetModel(made, Objects())
    model.grow()
    assert model.on.tolist() == [[1, 1], [0, 0]]
    assert model.parts.tolist() == [0, 1]


def test_what_the_specification_marks_is_a_unit_on_everything_too() -> None:
    made = symbols(*ACCOUNT, regions={"bank:move": {}, "bank:Account.get": {}})
    model = SetModel(made, Marking(Objects(), {"bank:move"}.__contains__))
    model.grow()
    assert model.on.tolist() == [[1, 1], [1, 0]]


def test_what_was_learned_stays_when_there_is_more_to_know() -> None:
    made = symbols(*ACCOUNT, regions={"bank:move": {}})
    model = SetModel(made, Objects())
    model.grow()
    model.on[0, model.kind_names.index("bank")] = 1
    made.variables.intern("Log.n (Log #1)", object="Log #1", field="n", **{"class": "Log"})
    made.regions.intern("bank:Log.add", origin="function")
    model.grow()
    assert model.kind_names == ["Account", "bank", "Log"]
    assert model.on.tolist() == [[0, 1, 0], [0, 0, 1]]
