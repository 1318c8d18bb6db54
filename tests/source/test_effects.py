"""Each row of the table of built-in methods and functions, held against the real built-in."""

from __future__ import annotations

import array
import asyncio
import builtins
import collections
import concurrent.futures
import contextlib
import dataclasses
import importlib
import io
import itertools
import queue
import re
import sys
import threading
import weakref
from collections.abc import Callable, Mapping, MutableMapping
from typing import Any, NamedTuple

import pytest

from atomsan.source.effects import (
    CALLS,
    EFFECTS,
    FUNCTION_TABLE,
    METHOD_TABLE,
    METHODS,
    PRIMITIVE_METHODS,
    Effect,
    Method,
    commute,
    commute_on_element,
)

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning")


class Plain:
    def __init__(self) -> None:
        self.x = 1


class Key(str):
    """A key that can be referred to weakly."""


class Value(float):
    """The same for a value."""


KEYS = {name: Key(name) for name in "abyz"}
VALUES = {number: Value(number) for number in range(1, 10)}


def weakly(given: Any) -> Any:
    """Arguments of which weak references can be made, and which live on."""
    if isinstance(given, dict):
        return {weakly(key): weakly(value) for key, value in given.items()}
    if isinstance(given, tuple):
        return tuple(map(weakly, given))
    return KEYS.get(given, given) if isinstance(given, str) else VALUES.get(given, given)


MAKE: dict[str, Callable[[], Any]] = {
    "list": lambda: [3, 1, 2],
    "bytearray": lambda: bytearray([3, 1, 2]),
    "array.array": lambda: array.array("i", [3, 1, 2]),
    "collections.deque": lambda: collections.deque([3, 1, 2]),
    "dict": lambda: {"a": 1, "b": 2},
    "collections.defaultdict": lambda: collections.defaultdict(int, a=1, b=2),
    "collections.OrderedDict": lambda: collections.OrderedDict(a=1, b=2),
    "collections.Counter": lambda: collections.Counter(a=1, b=2),
    "collections.ChainMap": lambda: collections.ChainMap({"a": 1, "b": 2}),
    "weakref.WeakValueDictionary": lambda: weakref.WeakValueDictionary(weakly({"a": 1, "b": 2})),
    "weakref.WeakKeyDictionary": lambda: weakref.WeakKeyDictionary(weakly({"a": 1, "b": 2})),
    "set": lambda: {1, 2, 3},
    "dict_keys": lambda: {"a": 1, "b": 2}.keys(),
    "dict_values": lambda: {"a": 1, "b": 2}.values(),
    "dict_items": lambda: {"a": 1, "b": 2}.items(),
    "object": Plain,
    "str": lambda: ", ",
    "bytes": lambda: b", ",
}


class Example(NamedTuple):
    """Arguments for a call of a method: with a key or value that is there, another one, and one that is not."""

    given: tuple[Any, ...] = ()
    other: tuple[Any, ...] = ()
    absent: tuple[Any, ...] = ()


SEQUENCE = {
    "append": Example((9,), (8,)),
    "extend": Example(([9],), ([8],)),
    "insert": Example((0, 9)),
    "remove": Example((3,), (1,)),
    "count": Example((1,)),
    "index": Example((1,)),
    "__contains__": Example((1,)),
    "appendleft": Example((9,), (8,)),
    "extendleft": Example(([9],), ([8],)),
    "rotate": Example((1,)),
    "find": Example((1,)),
    "startswith": Example((b"a",)),
    "endswith": Example((b"a",)),
    "__iadd__": Example(([9],), ([8],)),
    "__imul__": Example((2,)),
    "fromlist": Example(([9],)),
    "frombytes": Example((bytes(4),)),
    "fromfile": Example((io.BytesIO(bytes(4000)), 1)),
    "fromunicode": Example(("x",)),
    "tofile": Example((io.BytesIO(),)),
}
MAPPING = {
    "get": Example(("a",)),
    "__getitem__": Example(("a",)),
    "__contains__": Example(("a",)),
    "__setitem__": Example(("a", 5), ("b", 6), ("z", 7)),
    "__delitem__": Example(("a",), ("b",), ("z",)),
    "setdefault": Example(("a", 5), ("b", 6), ("z", 7)),
    "pop": Example(("a",), ("b",), ("z", None)),
    "update": Example(({"a": 5},), ({"y": 6},)),
    "__ior__": Example(({"a": 5},), ({"y": 6},)),
    "move_to_end": Example(("a",)),
    "subtract": Example(({"a": 5},), ({"a": 6},)),
}
SET = {
    "add": Example((1,), (8,), (9,)),
    "discard": Example((1,), (2,), (9,)),
    "remove": Example((1,), (2,), (9,)),
    "__contains__": Example((1,)),
    "update": Example(({9},), ({8},)),
    "__ior__": Example(({9},), ({8},)),
    "difference_update": Example(({1},), ({2},)),
    **dict.fromkeys(("intersection_update", "symmetric_difference_update"), Example(({1},))),
    **dict.fromkeys(("difference", "intersection", "union", "symmetric_difference"), Example(({1},))),
    **dict.fromkeys(("isdisjoint", "issubset", "issuperset"), Example(({1},))),
}
VIEW = {"__contains__": Example(("a",)), "isdisjoint": Example(({"a"},))}
OBJECT = {
    "__getattribute__": Example(("x",)),
    "__setattr__": Example(("x", 2)),
    "__delattr__": Example(("x",)),
}
EXAMPLES: dict[str, dict[str, Example]] = {
    **dict.fromkeys(("list", "bytearray", "array.array", "collections.deque"), SEQUENCE),
    **{name: MAPPING for name in MAKE if name == "dict" or isinstance(MAKE[name](), MutableMapping)},
    **{
        name: {method: Example(*map(weakly, example)) for method, example in MAPPING.items()}
        for name in ("weakref.WeakValueDictionary", "weakref.WeakKeyDictionary")
    },
    "set": SET,
    **dict.fromkeys(("dict_keys", "dict_values", "dict_items"), VIEW),
    "object": OBJECT,
    "str": {"join": Example((["x", "y"],))},
    "bytes": {"join": Example(([b"x", b"y"],))},
}

# Arguments that only this type takes, and values that only an array of another kind has.
SPECIAL = {
    ("bytearray", "__iadd__"): Example((b"9",), (b"8",)),
    ("array.array", "extend"): Example((array.array("i", [9]),), (array.array("i", [8]),)),
}
TEXTS = {"fromunicode", "tounicode"}

# Public methods without a row, and why.
ABSENT: dict[str, set[str]] = {
    "bytearray": {
        # they make a new one
        *("fromhex", "maketrans"),
        # they only read, as methods of text do, and are not watched
        *("capitalize", "center", "expandtabs", "isalnum", "isalpha", "isascii", "isdigit", "islower", "isspace"),
        *("istitle", "isupper", "join", "ljust", "lower", "lstrip", "partition", "removeprefix", "removesuffix"),
        *("replace", "rfind", "rindex", "rjust", "rpartition", "rsplit", "rstrip", "split", "splitlines", "strip"),
        *("swapcase", "title", "translate", "upper", "zfill"),
        # new in Python 3.14, and not watched
        "resize",
    },
    # it tells an address
    "array.array": {"buffer_info"},
    # they make new ones
    **{name: {"fromkeys"} for name in ("dict", "collections.defaultdict")},
    **{name: {"fromkeys"} for name in ("collections.OrderedDict", "collections.Counter")},
    "collections.ChainMap": {"fromkeys", "new_child"},
    # generators, and the references themselves
    "weakref.WeakValueDictionary": {"items", "keys", "values", "itervaluerefs", "valuerefs"},
    "weakref.WeakKeyDictionary": {"items", "keys", "values", "keyrefs"},
}
# Values that cannot change, and whatever else has attributes.
NOT_CONTAINERS = {"object", "str", "bytes"}
# In the table for those versions of Python that have it.
NEW = {("array.array", "clear")}

MAPPINGS = frozenset({"dict", "collections.OrderedDict", "collections.Counter", "collections.ChainMap"})

ROWS = [
    pytest.param(row, name, id=f"{name}.{row.name}")
    for row in METHOD_TABLE
    for name in row.types
    if name in MAKE and ((name, row.name) not in NEW or hasattr(MAKE[name](), row.name))
]


def resolve(name: str) -> Any:
    """What a canonical name stands for."""
    if name in ("dict_keys", "dict_values", "dict_items"):
        return type(MAKE[name]())
    first, *rest = name.split(".")
    found = getattr(builtins, first, None) or importlib.import_module(first)
    for part in rest:
        found = getattr(found, part)
    return found


def example(row: Method, name: str) -> Example:
    return SPECIAL.get((name, row.name)) or EXAMPLES[name].get(row.name, Example())


def made(row: Method, name: str) -> Any:
    return array.array("u", "abc") if row.name in TEXTS else MAKE[name]()


def content(container: Any) -> Any:
    """The structure, in order where there is one, and the elements by key, or as many as there are of each value."""
    if isinstance(container, Plain):
        return None, dict(vars(container))
    if isinstance(container, Mapping):
        return list(container), dict(container)
    if isinstance(container, str | bytes):
        return None, {}
    values = sorted(container) if isinstance(container, set) else list(container)
    return values, collections.Counter(values)


def changes(row: Method, name: str, arguments: tuple[Any, ...]) -> set[str]:
    """Calls the method: which of `structure` and `elements` that were there it has changed."""
    container = made(row, name)
    structure, elements = content(container)
    try:
        getattr(container, row.name)(*arguments)
    except KeyError:
        assert arguments == example(row, name).absent
    new_structure, new_elements = content(container)
    found = {"structure"} if new_structure != structure else set()
    if isinstance(elements, collections.Counter):
        is_changed = bool(elements - new_elements)
    else:
        is_changed = any(new_elements.get(key) != value for key, value in elements.items())
    return found | ({"elements"} if is_changed else set())


def declared(steps: str) -> set[str]:
    """The same, as the row has it."""
    places = {step.partition(" ")[2] for step in steps.split(", ") if step.startswith("write ")}
    found = {"structure"} if places & {"structure", "keys"} else set()
    if places & {"element", "elements", "first", "last", "keys", "attribute"}:
        found.add("elements")
    return found


@pytest.mark.parametrize(("row", "name"), ROWS)
def test_method_is_there(row: Method, name: str) -> None:
    assert callable(getattr(MAKE[name](), row.name))


@pytest.mark.parametrize("name", sorted(set(EFFECTS) - NOT_CONTAINERS))
def test_every_public_method_has_a_row_or_is_left_out_deliberately(name: str) -> None:
    real = resolve(name)
    public = {method for method in dir(real) if not method.startswith("_") and callable(getattr(real, method))}
    rows = {row.name for row in METHOD_TABLE if name in row.types}
    assert public - rows <= ABSENT.get(name, set())
    assert rows.isdisjoint(ABSENT.get(name, set()))


def test_types_of_the_table_are_known_here() -> None:
    assert set(EFFECTS) == set(MAKE)


@pytest.mark.parametrize(("row", "name"), [param for param in ROWS if param.values[0].effect is not None])
def test_method_writes_what_its_row_says(row: Method, name: str) -> None:
    effect: Effect = row.effect
    given, _, absent = example(row, name)
    found = changes(row, name, given)
    assert found <= declared(effect.steps)
    if effect.absent is not None:
        found_absent = changes(row, name, absent)
        assert found_absent <= declared(effect.absent)
        found |= found_absent
    assert bool(found) == ("write" in f"{effect.steps} {effect.absent}")


@pytest.mark.parametrize(("row", "name"), [param for param in ROWS if not param.values[0].name.startswith("__")])
def test_method_borrows_its_receiver_if_its_row_says_so(row: Method, name: str) -> None:
    container = made(row, name)
    before = sys.getrefcount(container)
    result = getattr(container, row.name)(*example(row, name).given)
    assert (sys.getrefcount(container) == before) == row.borrows
    assert result is not container


@pytest.mark.parametrize(("row", "name"), [param for param in ROWS if param.values[0].is_view])
def test_view_shows_later_changes(row: Method, name: str) -> None:
    container = made(row, name)
    view = getattr(container, row.name)()
    container["new"] = 1
    assert len(view) == len(container)


@pytest.mark.parametrize(("row", "name"), ROWS)
def test_method_with_steps_about_its_first_argument_is_keyed(row: Method, name: str) -> None:
    steps = "" if row.effect is None else row.effect.steps
    if row.takes_key or re.search(r"\b(element|attribute|keys|argument|mapping)\b", steps):
        assert example(row, name).given
        assert METHODS[row.name]


@pytest.mark.parametrize(("row", "name"), [param for param in ROWS if param.values[1] in MAPPINGS])
@pytest.mark.parametrize(("method", "how"), [("__getitem__", "reads_by"), ("__setitem__", "writes_by")])
def test_method_that_reads_or_writes_by_another_calls_it(row: Method, name: str, method: str, how: str) -> None:
    if row.effect is None or row.name in ("__getitem__", "__setitem__"):
        return
    called, base = [], resolve(name)

    def override(self: Any, *arguments: Any) -> Any:
        called.append(method)
        return getattr(base, method)(self, *arguments)

    for arguments in filter(None, (example(row, name).given, example(row, name).absent)):
        container = type("Extended", (base,), {method: override})(MAKE[name]())
        called.clear()
        with contextlib.suppress(KeyError):
            getattr(container, row.name)(*arguments)
        if getattr(row, how) == method and arguments == example(row, name)[0]:
            assert called or row.effect.absent is not None
        elif "write" in row.effect.steps and how == "writes_by":
            assert bool(called) == bool(row.writes_by)


@pytest.mark.parametrize(("row", "name"), [param for param in ROWS if param.values[0].changes])
def test_method_changes_elements_as_its_row_says(row: Method, name: str) -> None:
    container = made(row, name)
    given, _, absent = example(row, name)
    method = getattr(container, row.name)
    size = len(container)
    if row.changes == "adds key":
        method(*absent)
        assert len(container) == size + 1
        assert absent[0] in container
    elif row.changes == "adds place":
        method(*given)
        assert (len(container), container[-1]) == (size + 1, 9)
    elif row.changes == "adds value":
        method(*absent)
        method(*absent)
        assert len(container) == size + 1
    else:
        assert row.changes == "removes value"
        method(*given)
        assert list(container) == [1, 2]


PAIRS = [
    pytest.param(one, other, name, id=f"{name}.{one.name}-{other.name}")
    for name in MAKE
    for one, other in itertools.product([row for row in METHOD_TABLE if name in row.types], repeat=2)
    if set(one.commutes) & set(other.commutes)
]


@pytest.mark.parametrize(("one", "other", "name"), PAIRS)
def test_methods_of_one_group_commute(one: Method, other: Method, name: str) -> None:
    contents = []
    for order in (1, -1):
        container = MAKE[name]()
        for row, arguments in [(one, example(one, name).given), (other, example(other, name).other)][::order]:
            getattr(container, row.name)(*arguments)
        contents.append(content(container)[1])
    assert contents[0] == contents[1]
    assert commute(one.name, other.name, is_mapping=isinstance(container, Mapping))


def test_operations_of_different_groups_do_not_commute() -> None:
    assert commute("append", "put")
    assert commute("heapq.heappush", "bisect.insort")
    assert not commute("append", "appendleft")
    assert not commute("append", "pop")
    assert not commute("pop", "__setitem__")
    assert commute("pop", "__setitem__", is_mapping=True)
    assert not commute("get", "__setitem__", is_mapping=True)
    assert not commute("", "")


def test_operations_that_commute_on_one_element() -> None:
    assert commute_on_element("add", "add")
    assert not commute_on_element("add", "discard")
    assert not commute_on_element("remove", "append")
    assert commute_on_element("remove", "append", is_list=True)
    assert commute_on_element("remove", "remove", is_list=True)
    assert not commute_on_element("append", "extend", is_list=True)


# --- functions ------------------------------------------------------------------------------------------------------


@dataclasses.dataclass
class Point:
    x: int = 1


FIRST_ARGUMENT: dict[str, Callable[[], Any]] = {
    **dict.fromkeys(("dict", "collections.OrderedDict"), lambda: [("a", 1), ("b", 2)]),
    "collections.ChainMap": lambda: {"a": 1},
    **dict.fromkeys(("dataclasses.asdict", "dataclasses.astuple", "dataclasses.replace", "vars"), Point),
    "itertools.chain.from_iterable": lambda: [[1], [2]],
    "random.shuffle": lambda: list(range(50)),
}
MORE_ARGUMENTS: dict[str, tuple[Any, ...]] = {
    **dict.fromkeys(("random.sample", "itertools.combinations"), (2,)),
    **dict.fromkeys(("bisect.bisect", "bisect.bisect_left", "bisect.bisect_right", "itertools.islice"), (2,)),
    **dict.fromkeys(("bisect.insort", "bisect.insort_left", "bisect.insort_right", "heapq.heappush"), (2,)),
    **dict.fromkeys(("heapq.heappushpop", "heapq.heapreplace"), (9,)),
    **dict.fromkeys(("operator.countOf", "operator.indexOf"), (1,)),
    "json.dump": (io.StringIO(),),
    "pickle.dump": (io.BytesIO(),),
    "isinstance": (list,),
}


def call(name: str, container: Any) -> Any:
    return resolve(name)(container, *MORE_ARGUMENTS.get(name, ()))


@pytest.mark.parametrize("name", FUNCTION_TABLE)
def test_function_is_there(name: str) -> None:
    assert callable(resolve(name))


@pytest.mark.parametrize("name", [name for name, row in CALLS.items() if row.argument == 0])
def test_function_writes_its_argument_if_its_row_says_so(name: str) -> None:
    container = FIRST_ARGUMENT.get(name, lambda: [3, 1, 2])()
    before = repr(container)
    result = call(name, container)
    if hasattr(result, "__next__"):
        list(itertools.islice(result, 5))
    assert (repr(container) != before) == ("write" in CALLS[name].effect.steps)


@pytest.mark.parametrize("name", [name for name, row in FUNCTION_TABLE.items() if row.borrows])
def test_function_borrows_the_arguments_that_its_row_says(name: str) -> None:
    container = FIRST_ARGUMENT.get(name, lambda: [3, 1, 2])()
    before = sys.getrefcount(container)
    result = resolve(name)(1, container) if name.startswith("heapq.n") else call(name, container)
    is_kept = sys.getrefcount(container) > before
    assert is_kept == (FUNCTION_TABLE[name].borrows == "loop")
    del result
    assert sys.getrefcount(container) == before


@pytest.mark.parametrize("name", [name for name, row in FUNCTION_TABLE.items() if row.borrows in ("first", "single")])
def test_function_returns_or_stores_the_other_arguments(name: str) -> None:
    first: list[Any] = {"heapq": [[3]], "sum": []}.get(name.partition(".")[0], [3])
    second = [5]
    result = resolve(name)(first, second)
    assert any(part is second for part in (result, *first)) or result is first


@pytest.mark.parametrize("name", [name for name, row in FUNCTION_TABLE.items() if row.makes])
def test_maker_makes_a_new_container_of_exactly_its_type(name: str) -> None:
    one, other = resolve(name)(), resolve(name)()
    assert type(one) is resolve(name)
    assert one is not other
    assert name in EFFECTS


def test_functions_of_one_group_commute() -> None:
    names = [name for name, row in FUNCTION_TABLE.items() if row.commutes]
    assert names
    for one, other in itertools.product(names, repeat=2):
        results = []
        for order in (1, -1):
            container = [1, 3]
            for name, value in [(one, 2), (other, 4)][::order]:
                resolve(name)(container, value)
            results.append(sorted(container))
        assert results[0] == results[1]
        assert commute(one, other)


# --- the words of the rows ------------------------------------------------------------------------------------------

PLACES = {
    *("element", "structure", "elements", "fields", "first", "last", "attribute", "keys", "argument", "everything"),
    *("iterated", "mapping"),
}


def test_steps_are_of_the_known_words() -> None:
    effects = {effect for methods in EFFECTS.values() for effect in methods.values()}
    effects |= {row.effect for row in FUNCTION_TABLE.values()}
    steps = {step for effect in effects for text in effect if text for step in text.split(", ")}
    for step in steps - {"iterate", "alias"}:
        verb, place = step.split()
        assert verb in ("read", "write")
        assert place in PLACES


def test_augmenting_functions_name_methods_of_the_table() -> None:
    for name, row in CALLS.items():
        verb, _, method = row.does.partition(" ")
        if verb == "augment":
            assert method in METHODS, name


def test_primitive_methods_are_those_of_primitives() -> None:
    primitives = (
        *(threading.Lock(), threading.Condition(), threading.Event(), threading.Barrier(1), threading.Thread()),
        *(queue.Queue(), concurrent.futures.Future(), asyncio.Lock(), asyncio.Event(), asyncio.Queue()),
    )
    for name in PRIMITIVE_METHODS:
        assert any(callable(getattr(primitive, name, None)) for primitive in primitives), name
