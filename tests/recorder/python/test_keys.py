"""Keys of dicts and sets: equal keys are one location, others are not, and no code of the program runs for it."""

from __future__ import annotations

import collections
import datetime
import enum
import gc
import ipaddress
import sys
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any, NamedTuple
from zoneinfo import ZoneInfo

import pytest

from atomsan.recorder.python.key_types import shown_key
from recorder.probing import HASH, NUMBER, OBJECT, OPS, WHOLE, function, recording

UTC = datetime.UTC


class Level(enum.IntEnum):
    LOW = 1


class Word(str, enum.Enum):  # noqa: UP042 (as people wrote it before StrEnum)
    RED = "red"


class Color(enum.Enum):
    RED = 1
    BLUE = 2


class Bits(enum.Flag):
    A = 1
    B = 2


class Text(str):
    pass


class Whole(int):
    pass


class Pair(NamedTuple):
    x: Any
    y: Any


OldPair = collections.namedtuple("OldPair", "x y")


@dataclass(frozen=True)
class Point:
    x: Any
    y: Any = 0
    note: Any = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Slotted:
    x: Any


@dataclass(unsafe_hash=True)
class Mutable:
    x: Any


@dataclass(frozen=True)
class Place(Point):
    z: Any = 0


class Plain:
    def method(self) -> None:
        pass


class PlainPath(type(Path())):  # type: ignore[misc]
    pass


calls: list[str] = []


class Meta(type):
    def __hash__(cls) -> int:
        calls.append("meta hash")
        return 1

    def __eq__(cls, other: object) -> bool:
        calls.append("meta eq")
        return cls is other

    def __getattribute__(cls, name: str) -> Any:
        calls.append(f"meta {name}")
        return super().__getattribute__(name)


class Counting:
    """Counts whatever of it runs."""

    def __init__(self, value: Any = 0) -> None:
        self.value = value

    def __hash__(self) -> int:
        calls.append("hash")
        return 7

    def __eq__(self, other: object) -> bool:
        calls.append("eq")
        return self is other

    def __repr__(self) -> str:
        calls.append("repr")
        return "Counting"

    def __getattribute__(self, name: str) -> Any:
        calls.append("getattribute")
        return super().__getattribute__(name)


class OwnHash(str):
    def __hash__(self) -> int:
        calls.append("hash")
        return 3

    __eq__ = str.__eq__


class OwnEq(int):
    __hash__ = int.__hash__

    def __eq__(self, other: object) -> bool:
        calls.append("eq")
        return int(self) == other


class Loud(str):
    """Is told apart, though it has code that must not run."""

    def __repr__(self) -> str:
        calls.append("repr")
        return "loud"

    def __len__(self) -> int:
        calls.append("len")
        return 1

    def __getitem__(self, key: Any) -> str:
        calls.append("getitem")
        return "x"


@dataclass(frozen=True)
class OwnRepr:
    x: int

    def __repr__(self) -> str:
        calls.append("repr")
        return "own"


@dataclass(frozen=True)
class WithProperty:
    x: int

    @property
    def name(self) -> int:
        calls.append("property")
        return 1


@dataclass(frozen=True)
class Hidden:
    """Its field is a property by now."""

    x: int


def _read(self: Any) -> int:
    calls.append("property")
    return 1


Hidden.x = property(_read)  # type: ignore[assignment, misc]


@dataclass(frozen=True)
class OwnEquality:
    x: int

    def __eq__(self, other: object) -> bool:
        calls.append("eq")
        return isinstance(other, OwnEquality) and self.x == other.x


@dataclass(frozen=True, eq=True)
class Watching:
    x: int

    def __getattribute__(self, name: str) -> Any:
        calls.append("getattribute")
        return super().__getattribute__(name)


class Zone(datetime.tzinfo):
    def utcoffset(self, when: Any) -> datetime.timedelta:
        calls.append("utcoffset")
        return datetime.timedelta(hours=1)


def _attrs_class(*names: str) -> type:
    """A class as attrs makes it."""

    class Attribute:
        def __init__(self, name: str) -> None:
            self.name, self.eq, self.eq_key, self.hash = name, True, None, None

    Attribute.__module__ = "attr._make"
    mine, others = (", ".join(f"{whose}.{name}" for name in names) for whose in ("self", "other"))
    space: dict[str, Any] = {}
    text = f"def __hash__(self): return hash(({mine},))"
    exec(compile(text, "<attrs generated hash m.C>", "exec"), space)
    text = "def __eq__(self, other):\n if other.__class__ is not self.__class__: return NotImplemented\n"
    text += f" return ({mine},) == ({others},)"
    exec(compile(text, "<attrs generated eq m.C>", "exec"), space)

    def fill(self: Any, *values: Any) -> None:
        self.__dict__.update(zip(names, values, strict=True))

    attributes = tuple(map(Attribute, names))
    return type("C", (), {**space, "__init__": fill, "__attrs_attrs__": attributes, "__module__": __name__})


Attrs = _attrs_class("x", "y")


def located(*keys: Any) -> list[tuple[int, int]]:
    """The kind and number of each key, as a store to a dict logs them."""
    with recording() as log:
        store = function("def f(a, key): «item»[a, key] = 0")
        found = []
        for key in keys:
            log.read()
            store({}, key)
            write = next(r for r in log.read() if OPS[r.op] == "write")
            found.append((write.key_kind, write.key))
        return found


# Each makes two equal keys that are not the same object; all are different from the keys of the other rows.
EQUAL: list[Callable[[], tuple[Any, ...]]] = [
    lambda: (uuid.UUID(int=5), uuid.UUID(int=5)),
    lambda: (1, 1.0, True, Decimal(1), Fraction(1), 1 + 0j, Whole(1), Level.LOW, Decimal("1.0")),
    lambda: (-1, Decimal(-1), Fraction(-1), -1.0, Whole(-1)),
    lambda: (-2, Decimal(-2), Fraction(-2), -2.0),
    lambda: (2.5, Decimal("2.5"), Fraction(5, 2)),
    lambda: (Fraction(1, 3), Fraction(2, 6)),
    lambda: (Fraction(-1, 3), Fraction(1, -3)),
    lambda: (Decimal("0.1"), Fraction(1, 10)),
    lambda: ("red", Text("red"), Word.RED, Loud("red")),
    lambda: (b"red", bytes(bytearray(b"red"))),
    lambda: (None, None),
    lambda: ((1, "a"), Pair(1, "a"), OldPair(1.0, "a"), Pair(Fraction(1), Text("a"))),
    lambda: ((Color.RED, 1), (Color.RED, 1)),
    lambda: ((int, None), (int, None)),
    lambda: ((uuid.UUID(int=5), 2), (uuid.UUID(int=5), 2)),
    lambda: (frozenset({1, "a"}), frozenset({"a", 1.0})),
    lambda: (frozenset(), frozenset()),
    lambda: (range(0, 10, 3), range(0, 11, 3)),
    lambda: (range(0), range(5, 5)),
    lambda: (range(7, 8, 2), range(7, 8)),
    lambda: (datetime.date(2020, 1, 2), datetime.date(2020, 1, 2)),
    lambda: (datetime.datetime(2020, 1, 2), datetime.datetime(2020, 1, 2)),
    lambda: (
        datetime.datetime(2020, 1, 2, 12, tzinfo=UTC),
        datetime.datetime(2020, 1, 2, 13, tzinfo=datetime.timezone(datetime.timedelta(hours=1))),
        datetime.datetime(2020, 1, 2, 13, tzinfo=ZoneInfo("Europe/Berlin")),
    ),
    lambda: (datetime.time(1, 2), datetime.time(1, 2)),
    lambda: (datetime.timedelta(1), datetime.timedelta(hours=24)),
    lambda: (UTC, datetime.timezone(datetime.timedelta(0))),
    lambda: (Path("a/b"), PurePosixPath("a", "b"), PlainPath("a//b")),
    lambda: (PureWindowsPath("A/b"), PureWindowsPath("a\\B")),
    lambda: (ipaddress.ip_address("1.2.3.4"), ipaddress.IPv4Address(0x01020304)),
    lambda: (ipaddress.ip_address("::1"), ipaddress.IPv6Address(1)),
    lambda: (ipaddress.ip_interface("1.2.3.4/8"), ipaddress.ip_interface("1.2.3.4/8")),
    lambda: (ipaddress.ip_network("10.0.0.0/8"), ipaddress.ip_network("10.0.0.0/255.0.0.0")),
    lambda: (Point(1, "a"), Point(1.0, Text("a"), note=3)),
    lambda: (Point(1, Point(2)), Point(1, Point(2))),
    lambda: (Place(1, "a"), Place(1, "a")),
    lambda: (Slotted((1, 2)), Slotted(Pair(1, 2))),
    lambda: (Mutable(1), Mutable(1)),
    lambda: (Attrs(1, "a"), Attrs(1.0, "a")),
    lambda: (OwnRepr(1), OwnRepr(1)),
    lambda: (WithProperty(1), WithProperty(1)),
    lambda: (Point(Color.BLUE, len), Point(Color.BLUE, len)),
]


@pytest.fixture(autouse=True)
def no_calls() -> Iterator[None]:
    calls.clear()
    yield
    calls.clear()


def test_equal_keys_are_one_location() -> None:
    for make in EQUAL:
        keys = make()
        assert all(one == keys[0] for one in keys)
        calls.clear()
        found = located(*keys)
        assert len(set(found)) == 1, keys
        assert found[0][0] in (HASH, NUMBER), keys
        assert not calls


def test_unequal_keys_are_different_locations() -> None:
    keys = [make()[0] for make in EQUAL]
    keys += [uuid.UUID(int=6), 3, (1, "b"), ("a", 1), Point(2, "a"), Slotted(1), Point(uuid.UUID(int=5))]
    keys += [((1, 2), 3), (1, (2, 3)), (1, 2, 3), frozenset({1}), frozenset({frozenset({1})}), (-1,), (-2,)]
    keys += [Path("a/c"), Path("/a/b"), PureWindowsPath("a"), Attrs(2, "a"), (Color.RED, 2)]
    keys += [(Color.BLUE, 1), (1,), ("1",)]
    found = located(*keys)
    assert all(kind in (HASH, NUMBER) for kind, _ in found)
    assert len(set(found)) == len(keys)


def test_plain_objects_classes_and_functions_are_known_by_identity() -> None:
    for key in (Plain(), Plain, int, test_equal_keys_are_one_location, Color.RED, Bits.A, Bits.A | Bits.B, object()):
        assert located(key)[0] == (OBJECT, id(key))


def test_bound_methods_are_known_by_object_and_function() -> None:
    one, other = Plain(), Plain()
    same = located(one.method, one.method)
    assert same[0] == same[1]
    assert same[0][0] == HASH
    assert len(set(located(one.method, other.method, len, print, [].append))) == 5


@pytest.mark.parametrize(
    "key",
    [
        *(Counting(), OwnHash("a"), OwnEq(1), Hidden.__new__(Hidden), Watching.__new__(Watching)),
        *((1, Counting()), Point(1, Counting()), frozenset({Counting()}), Slotted((1, (2, OwnEq(3))))),
        *(OwnEquality.__new__(OwnEquality), Meta("M", (), {}), datetime.datetime(2020, 1, 1, tzinfo=Zone())),
    ],
    ids=lambda key: type(key).__name__,
)
def test_other_keys_stand_for_the_whole_and_run_nothing(key: Any) -> None:
    with recording() as log:
        probe = function("def f(a, key): «contains»[a, key]; «keyed_method get»[a, key]; «keyed_method pop»[a, key]")
        calls.clear()
        probe({}, key)
        assert {r.key_kind for r in log.read() if OPS[r.op] in ("read", "write")} == {WHOLE, 6}
        assert not log.definitions_of("key")
    assert not calls


def test_no_code_of_the_program_runs_for_keys_that_are_told_apart() -> None:
    keys = [Loud("abc"), OwnRepr(1), WithProperty(1), Point(OwnRepr(2), Loud("x")), (Loud("y"),), PlainPath("p")]
    with recording() as log:
        probe = function(
            "def f(a, key): «contains»[a, key]; «keyed_method setdefault»[a, key]; «keyed_method pop»[a, key];"
            " «argument sum»[a.values()]; «argument list»[a.items()]"
        )
        table = dict.fromkeys(keys, 1)
        calls.clear()
        for key in keys:
            probe(table, key)
            probe({}, key)
        assert not calls
        assert not {r.key_kind for r in log.read() if OPS[r.op] in ("read", "write")} & {WHOLE}
    assert not calls


def test_a_class_that_is_changed_is_looked_at_again() -> None:
    @dataclass(frozen=True)
    class Changed:
        x: int

    key = Changed(1)
    assert located(key)[0][0] == HASH
    Changed.__eq__ = lambda self, other: self is other  # type: ignore[method-assign, assignment]
    assert located(key)[0][0] == WHOLE


def test_presence_of_a_key_is_known() -> None:
    key = uuid.UUID(int=1)
    with recording() as log:
        ensure = function("def f(a, key): «keyed_method setdefault»[a, key]")
        for table, shown in (({}, ["write a[{}]", "write a"]), ({uuid.UUID(int=1): 1}, ["read a[{}]"])):
            ensure(table, key)
            assert log.events({id(table): "a"}) == [text.format(repr(key)) for text in shown]
        made = function("def f(a, key): «item»[a, key]")
        table = collections.defaultdict(int)
        for expected in (["read", "write", "write"], ["read"]):
            made(table, key)
            assert [text.split()[0] for text in log.events({id(table): "a"})] == expected


def test_an_iteration_and_a_whole_read_find_the_elements_of_such_keys() -> None:
    table = {uuid.UUID(int=1): 1, Point(1, 2): 2, Decimal("0.5"): 3}
    with recording() as log:
        run = function("def f(a):\n «argument sum»[a.values()]\n for x in «iterate»[a.values()]: pass")
        run(table)
        reads = [(r.key_kind, r.key) for r in log.read() if r.object == id(table) and r.key_kind != 6]
        assert reads[:3] == reads[3:]
        store = function("def f(a, key): «item»[a, key] = 0")
        for key in list(table):
            store(table, key)
        assert [(r.key_kind, r.key) for r in log.read() if OPS[r.op] == "write"] == reads[:3]


def test_parts_of_keys_that_die_are_not_taken_for_others() -> None:
    """Two objects are two keys, even if the second has the address of the first."""
    with recording() as log:
        store = function("def f(a, key): «item»[a, key] = 0")
        seen = set()
        addresses = set()
        for _ in range(200):
            table: dict[Any, int] = {}
            key = (Plain(), 1)
            addresses.add(id(key[0]))
            store(table, key)
            del key, table
            gc.collect(0)
            seen |= {r.key for r in log.read() if OPS[r.op] == "write" and r.key_kind == HASH}
        assert len(addresses) < 200
        assert len(seen) == 200


@pytest.mark.parametrize(
    ("key", "shown"),
    [
        (uuid.UUID(int=1), "UUID('00000000-0000-0000-0000-000000000001')"),
        (Decimal("1.50"), "Decimal('1.50')"),
        (Path("a"), f"{type(Path()).__name__}('a')"),
        (Pair(1, "x"), "Pair(1, 'x')"),
        (Point(1, (2,)), "Point(1, (2,))"),
        (Word.RED, "'red'"),
        ((Color.RED, Plain, Plain()), "(Color.RED, Plain, <Plain>)"),
        (frozenset({1}), "frozenset({1})"),
        (datetime.date(2020, 1, 2), "datetime.date(2020, 1, 2)"),
        (ipaddress.ip_address("1.2.3.4"), "IPv4Address('1.2.3.4')"),
        (Point("x" * 100), "Point('" + "x" * 50 + "..."),
        (tuple(range(100)), "(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16..."),
    ],
)
def test_names(key: Any, shown: str) -> None:
    assert shown_key(key) == shown
    assert not calls


def test_redacted_keys_have_no_names() -> None:
    with recording(redact_keys=True) as log:
        store = function("def f(a, key): «item»[a, key] = 0")
        for key in (uuid.UUID(int=1), Point(1), (1, "secret")):
            store({}, key)
        assert {message[3] for message in log.definitions_of("key")} == {"<key>"}


def test_no_module_is_loaded_for_it() -> None:
    import subprocess

    text = (
        "import sys; import atomsan.recorder.python._probes;"
        "print([name for name in ('uuid', 'decimal', 'ipaddress', 'fractions') if name in sys.modules])"
    )
    assert subprocess.run([sys.executable, "-c", text], capture_output=True, text=True).stdout == "[]\n"
