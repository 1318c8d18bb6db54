"""The model of atomic sets: which locations belong together, and which regions are units on them."""

from __future__ import annotations

import numpy as np
import pytest

from atomsan.checkers.atomic_sets import Learning, Units
from atomsan.checkers.sets import Marking, Objects, SetModel
from atomsan.checkers.units import RowKind
from atomsan.trace.events import Batch, Op
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


def test_a_region_that_is_called_back_has_what_is_known_of_the_region() -> None:
    made = symbols(*ACCOUNT, regions={"bank:move": {}, "bank:other": {}})
    for name, entered in (("bank:other", "callback"), ("bank:move", "callback")):
        number = made.regions.names.add(name)
        made.regions.set(number, "origin", "function")
        made.regions.set(number, "entered", entered)
    outer = made.regions.names.add("bank:move")
    made.regions.set(outer, "origin", "outer")
    model = SetModel(made, Objects())
    model.grow()
    assert model.same.tolist() == [0, 1, 1, 0, 4]
    assert model.back.tolist() == [0, 0, 1, 1, 0]


def test_what_is_learned_of_a_region_holds_for_it_when_it_is_called_back() -> None:
    """`move` touches the account in a call of its own; called back, it only calls `get`, twice."""
    made = symbols(*ACCOUNT[:1], regions={"bank:move": {}, "bank:get": {}})
    back = made.regions.names.add("bank:move")
    made.regions.set(back, "origin", "function")
    made.regions.set(back, "entered", "callback")
    one, two = made.threads.intern("T"), made.threads.intern("U")
    begin, end, read, write = Op.BEGIN, Op.END, Op.READ, Op.WRITE
    events = [
        *((one, begin, 0), (one, read, 0), (one, end, 0)),
        *((one, begin, 0), (one, begin, back)),
        *((one, begin, 1), (one, read, 0), (one, end, 1), (two, write, 0)),
        *((one, begin, 1), (one, read, 0), (one, end, 1)),
        *((one, end, back), (one, read, 0), (one, end, 0)),
    ]
    columns = [np.array(column) for column in zip(*events, strict=True)]
    batch = Batch(0, *(c.astype(t) for c, t in zip(columns, "IBI", strict=True)), np.zeros(len(events), np.uint32))
    model = SetModel(made, Objects())
    Learning(model, 1 << 10).feed(batch)
    rows = Units(model, learns=False).rows(batch)
    units = [unit for unit, kind in zip(rows.unit.tolist(), rows.kind.tolist(), strict=True) if kind != RowKind.END]
    # its own call; called back, with the write of another in between; and what is around that
    assert units == [0, 1, 2, 1, 3]
    inside = rows.kind < RowKind.END
    assert rows.thread[inside].tolist() == [0, 0, 0, 0]
    assert rows.lane[inside].tolist() == [0, 1, 1, 0]


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
