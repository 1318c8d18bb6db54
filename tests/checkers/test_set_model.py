"""The model of atomic sets: which locations belong together, and which regions are units on them."""

from __future__ import annotations

import numpy as np
import pytest

from atomsan.checkers.atomic_sets import Learning, Units
from atomsan.checkers.set_model import Marking, Objects, SetModel
from atomsan.checkers.units import RowKind
from atomsan.errors import InputError
from atomsan.trace.events import Batch, Op
from atomsan.trace.symbols import Symbols


def symbols(*variables: tuple[str, str | None, str, str | None], regions: dict[str, dict[str, str]]) -> Symbols:
    """Symbols from variables given as (object, owner, field, class), and regions with their recorded facts."""
    made = Symbols()
    for of, owner, field, kind in variables:
        facts = {"object": of, "owner": owner, "field": field, "class": kind}
        made.locations.intern(f"{kind}.{field} ({of})", **{name: value for name, value in facts.items() if value})
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


def test_object_and_its_containers_are_one_set() -> None:
    assert sets_by_variable(Objects()) == [["Account #1"], ["Account #1"], ["Account #1"], ["Account #2"], ["bank"]]


def test_specification_can_split_the_fields_of_a_class() -> None:
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
def test_classes_on_which_a_region_is_a_unit(region: str, flow: str, kinds: set[str]) -> None:
    regions = {region: {"flow": flow} if flow else {}, "bank:Account.get": {}, "bank:Base.set": {}}
    model = SetModel(symbols(*ACCOUNT, regions=regions), Objects({"Account": ["Base"]}))
    model.grow()
    assert {model.kind_names[kind] for kind in model.on[0].nonzero()[0]} == kinds


def test_annotated_region_is_a_unit_on_every_class() -> None:
    made = symbols(*ACCOUNT, regions={"bank:move": {"origin": "annotated"}, "bank:f/with:3": {"origin": "lock-block"}})
    model = SetModel(made, Objects())
    model.grow()
    assert model.on.tolist() == [[1, 1], [0, 0]]
    assert model.parts.tolist() == [0, 1]


def test_region_marked_by_the_specification_is_a_unit_on_every_class() -> None:
    made = symbols(*ACCOUNT, regions={"bank:move": {}, "bank:Account.get": {}})
    model = SetModel(made, Marking(Objects(), {"bank:move"}.__contains__))
    model.grow()
    assert model.on.tolist() == [[1, 1], [1, 0]]


def test_callback_region_is_linked_to_the_function_of_the_same_name() -> None:
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


def test_classes_learned_for_a_region_apply_to_its_callbacks() -> None:
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
    # the first call; the callback, with U's write in between; and the call around the callback
    assert units == [0, 1, 2, 1, 3]
    inside = rows.kind < RowKind.END
    assert rows.thread[inside].tolist() == [0, 0, 0, 0]
    assert rows.lane[inside].tolist() == [0, 1, 1, 0]


def test_growing_the_model_keeps_what_was_learned() -> None:
    made = symbols(*ACCOUNT, regions={"bank:move": {}})
    model = SetModel(made, Objects())
    model.grow()
    model.on[0, model.kind_names.index("bank")] = 1
    made.locations.intern("Log.n (Log #1)", object="Log #1", field="n", **{"class": "Log"})
    made.regions.intern("bank:Log.add", origin="function")
    model.grow()
    assert model.kind_names == ["Account", "bank", "Log"]
    assert model.on.tolist() == [[0, 1, 0], [0, 0, 1]]


# Sets that span objects

SPANNED = [
    ("Account #1", None, "checking", "Account"),
    ("Account #1", None, "log", "Account"),
    ("Account #1", None, "name", "Account"),
    ("Log #1", None, "entries", "Log"),
    ("Log #1", None, "file", "Log"),
    ("Log.entries (Log #1)", "Log #1", "[...]", "Log.entries"),
    ("File #1", None, "size", "File"),
    ("Log #2", None, "entries", "Log"),
]
HOLDERS = {"Log #1": ["Account #1.log"], "File #1": ["Log #1.file"]}


def spanning(sets: dict[str, list[str]], holders: dict[str, list[str]] = HOLDERS) -> dict[str, set[str]]:
    """The sets that each variable is in."""
    made = symbols(*SPANNED, regions={})
    layout = Objects(sets=sets, holders=holders)
    return {
        name.rpartition(" (")[0] if " (Account" in name or " (File" in name else name: {
            belongs.set for belongs in layout.sets_of(made.locations, number)
        }
        for number, name in enumerate(made.locations)
    }


def members(sets: dict[str, list[str]], name: str, holders: dict[str, list[str]] = HOLDERS) -> set[str]:
    """The variables that are in a set."""
    return {variable for variable, found in spanning(sets, holders).items() if name in found}


CHECKING, LOG, NAME = "Account.checking", "Account.log", "Account.name"
ENTRIES, ELEMENT, FILE = "Log.entries (Log #1)", "Log.entries.[...] (Log.entries (Log #1))", "Log.file (Log #1)"


@pytest.mark.parametrize(
    ("paths", "expected"),
    [
        (["checking"], {CHECKING}),
        (["log"], {LOG}),
        (["log.entries"], {LOG, ENTRIES, ELEMENT}),
        (["checking", "log.entries"], {CHECKING, LOG, ENTRIES, ELEMENT}),
        (["l?g.e*"], {LOG, ENTRIES, ELEMENT}),
        (["log.*"], {LOG, ENTRIES, ELEMENT, FILE}),
        (["*.entries"], {CHECKING, LOG, NAME, ENTRIES, ELEMENT}),  # every field on the path, whatever it holds
        (["log.file.size"], {LOG, FILE, "File.size"}),
        (["log.*.size"], {LOG, ENTRIES, ELEMENT, FILE, "File.size"}),
        (["log.**"], {LOG, ENTRIES, ELEMENT, FILE, "File.size"}),
        (["log.file.**"], {LOG, FILE, "File.size"}),
        (["**"], {CHECKING, LOG, NAME, ENTRIES, ELEMENT, FILE, "File.size"}),
        (["log.file"], {LOG, FILE}),
        (["log.nothing"], {LOG}),
        (["name.entries"], {NAME}),
    ],
)
def test_members_of_a_set_given_by_field_paths(paths: list[str], expected: set[str]) -> None:
    assert members({"Account": paths}, "Account #1 (set)") == expected


@pytest.mark.parametrize("path", ["", ".", "a.", ".a", "a..b", "**.a", "a.**.b", "a.b**", "***"])
def test_invalid_field_paths_are_refused(path: str) -> None:
    with pytest.raises(InputError, match=r"^'sets.Account': .* is no path of fields: "):
        Objects(sets={"Account": ["a", path]})


def test_spanned_fields_leave_the_default_set_of_their_object() -> None:
    found = spanning({"Account": ["checking", "log.entries"]})
    assert found[ENTRIES] == {"Account #1 (set)"}
    assert found[FILE] == {"Log #1"}
    assert found[NAME] == {"Account #1.name"}
    assert found["Log.entries (Log #2)"] == {"Log #2"}  # nobody holds it


def test_field_named_by_its_own_class_too_is_in_both_sets() -> None:
    found = spanning({"Account:money": ["checking", "log.*"], "Log": ["entries"]})
    assert found[ENTRIES] == {"Account #1 (money)", "Log #1 (set)"}
    assert found[FILE] == {"Account #1 (money)"}
    assert found["Log.entries (Log #2)"] == {"Log #2 (set)"}


def test_an_object_with_two_holders_is_in_the_sets_of_both() -> None:
    holders = {"Log #1": ["Account #1.log", "Account #2.log", "Other #1.log"]}
    assert spanning({"Account": ["log.entries"]}, holders)[ENTRIES] == {"Account #1 (set)", "Account #2 (set)"}


def test_search_ends_in_a_cyclic_object_graph() -> None:
    """A ring of objects that all hold each other: it has far too many paths to walk each of them."""
    size = 60
    holders = {f"Node #{n}": [f"Node #{m}.next{m}" for m in range(size) if m != n] for n in range(size)}
    holders["Node #0"].append("Ring #1.head")
    holders["Ring #1"] = ["Node #3.ring"]
    made = symbols(
        *[(f"Node #{n}", None, "value", "Node") for n in range(size)],
        *(("Ring #1", None, "size", "Ring"), ("Ring #1", None, "head", "Ring")),
        regions={},
    )
    layout = Objects(sets={"Ring": ["head.**"]}, holders=holders)
    found = [layout.sets_of(made.locations, number) for number in range(len(made.locations))]
    assert {tuple(belongs) for belongs in found} == {(("Ring #1 (set)", "Ring"),)}  # its size is reached as well


def test_linked_list_of_20000_objects_is_one_set() -> None:
    size = 20_000
    holders = {f"Node #{n}": [f"Node #{n - 1}.next" if n else "List #1.head"] for n in range(size)}
    made = symbols(*[(f"Node #{n}", None, "value", "Node") for n in range(size)], regions={})
    layout = Objects(sets={"List": ["head.**"]}, holders=holders)
    assert all(layout.sets_of(made.locations, n)[0].set == "List #1 (set)" for n in range(size))


def test_methods_of_spanned_objects_are_units_on_the_set() -> None:
    regions: dict[str, dict[str, str]] = {
        "bank:Log.add": {},
        "bank:Log.size": {},
        "bank:Account.move": {},
        "bank:File.write": {},
        "bank:twice": {"flow": "log size add"},
    }
    model = SetModel(symbols(*SPANNED, regions=regions), Objects(sets={"Account": ["log.entries"]}, holders=HOLDERS))
    model.grow()
    of_account = model.on[:, model.kind_names.index("Account")]
    names = list(regions)
    assert {names[region] for region in of_account.nonzero()[0]} == set(names) - {"bank:File.write"}


def test_spanning_set_of_a_location_lists_its_classes() -> None:
    made = symbols(*SPANNED, regions={})
    layout = Objects({"Account": ["Base"]}, {"Account": ["checking", "log.entries"]}, HOLDERS)
    model = SetModel(made, layout)
    model.grow()
    entries = layout.spanned(made.locations, 3)
    assert entries == {"Account #1 (set)": frozenset({"Account", "Base", "Log"})} == layout.spanned(made.locations, 0)
    assert Objects(sets={"Account": ["checking"]}, holders=HOLDERS).spanned(made.locations, 0) == {}
