"""What each kind of probe logs, and that the program does not notice."""

from __future__ import annotations

import array
import collections
import enum
import functools
import itertools
import sys
import threading
import traceback
import types
import weakref
from collections.abc import Callable
from typing import Any

import pytest

from atomsan.recorder.python import _log, _probes
from atomsan.recorder.python.session import scheduled
from atomsan.scheduler.noise import Noise
from atomsan.source.plan import Function, Plan
from recorder.probing import OPS, Log, function, prepared, recording


def logged(source: str, *arguments: Any, names: dict[str, Any] | None = None, **globals_: Any) -> list[str]:
    """What the body of a function of `a, b, c` logs about its arguments and `names`, twice: the second time is what a
    probe does that has met these types before; it must not differ in kind."""
    with recording() as log:
        body = "\n ".join(source.splitlines())
        run = function(f"def f(a=None, b=None, c=None):\n {body}", **globals_)
        run(*arguments)
        known = {id(thing): name for name, thing in zip("abc", arguments, strict=False)}
        known |= {id(thing): name for name, thing in (names or {}).items()}
        return log.events(known)


def logs(source: str, expected: str, *arguments: Any, **more: Any) -> None:
    assert logged(source, *arguments, **more) == [line.strip() for line in expected.split(";") if line.strip()]


class Account:
    bank = "ours"

    def __init__(self) -> None:
        self.balance = 1
        self.notify = print

    def deposit(self) -> None:
        pass

    @property
    def double(self) -> int:
        return 2 * self.balance

    @functools.cached_property
    def history(self) -> list[int]:
        return [1]


class Account2:
    def __init__(self) -> None:
        self.x = 1


class Slotted:
    __slots__ = ("x",)


class Guarded:
    def __init__(self) -> None:
        object.__setattr__(self, "x", 1)

    def __getattribute__(self, name: str) -> Any:
        return object.__getattribute__(self, name)

    def __setattr__(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)


class Fallback:
    def __init__(self) -> None:
        self.x = 1

    def __getattr__(self, name: str) -> str:
        return name


class Color(enum.Enum):
    RED = 1


# --- attributes -----------------------------------------------------------------------------------------------------


def test_attributes_of_instances() -> None:
    account = Account()
    logs("«load_attr balance»[a].balance", "read a.balance", account)
    logs("«store_attr balance»[a].balance = 3", "write a.balance", account)
    assert account.balance == 3
    logs("del «store_attr balance»[a].balance", "write a.balance", account)
    assert not hasattr(account, "balance")


def test_augmented_assignment_reads_and_then_writes() -> None:
    account = Account()
    with recording() as log:
        function("def f(a): «aug_attr balance»[a] += 4")(account)
        assert [(OPS[r.op], r.flags) for r in log.read() if r.op < 2] == [("read", 1), ("write", 1)]
    assert account.balance == 5


def test_augmented_assignment_changes_a_container_in_place() -> None:
    account: Any = Account()
    account.items = items = [1]
    logs("«aug_attr items»[a] += [2]", "read a.items; write items; write a.items", account, names={"items": items})
    assert account.items is items
    assert items == [1, 2]


def at_once(obj: Any, name: str, by: Any, sign: str = "+") -> tuple[list[bool], list[str]]:
    """Add to an attribute twice: what was done at once, and what was logged. A probe meets the type the first time."""
    plain = f"p[a] {sign}= b"
    source = f"def f(a, b, done):\n p = «aug_attr {name} {sign}»\n done.append(p(a, b))\n if not done[-1]: {plain}"
    done: list[bool] = []
    with recording() as log:
        add = function(source)
        for _ in range(2):
            add(obj, by, done)
        return done, log.events({id(obj): "a"})


TWICE = 2 * ["read a.x", "write a.x"]


@pytest.mark.parametrize(
    ("before", "by"),
    [
        *((3, 4), (-1, 1), (2**62, 2**62), (10**40, -(10**40)), (1.5, 2.5), (1.5, 2), (2, 0.25), (0, float("inf"))),
        *((True, 1), (1, True), (10**400, 1), (-0.0, 0), (2**53, 1.0)),
    ],
)
@pytest.mark.parametrize("sign", ["+", "-"])
def test_numbers_are_added_at_once_as_the_interpreter_does_it(before: float, by: float, sign: str) -> None:
    expected = eval(f"before {sign} by {sign} by")
    things: tuple[Any, ...] = (Thing(), Slotted(), InDictionary())
    for thing, is_plain in zip(things, (True, True, False), strict=True):
        thing.x = before
        done, events = at_once(thing, "x", by, sign)
        assert (repr(thing.x), type(thing.x)) == (repr(expected), type(expected))
        assert events == TWICE
        assert done == [False, is_plain and type(by) is not bool]


class Thing:
    x: Any


class InDictionary:
    """Whose attributes are in a dictionary of its own."""

    x: Any

    def __init__(self) -> None:
        self.__dict__ = {}


class Counted(int):
    def __add__(self, other: int) -> Counted:
        return Counted(int(self) + other + 100)


@pytest.mark.parametrize(("before", "by", "after"), [("a", "b", "abb"), (Counted(1), 1, 203), ([1], [2], [1, 2, 2])])
def test_only_numbers_are_added_at_once(before: Any, by: Any, after: Any) -> None:
    thing = Thing()
    thing.x = before
    done, events = at_once(thing, "x", by)
    assert (thing.x, type(thing.x)) == (after, type(before))
    assert [event for event in events if event in TWICE] == TWICE
    assert done == [False, False]


def test_only_plain_attributes_are_added_to_at_once() -> None:
    class Watched:
        level = 1

        def __init__(self) -> None:
            self.held: list[int] = [5]

        @property
        def x(self) -> int:
            return self.held[-1]

        @x.setter
        def x(self, value: int) -> None:
            self.held.append(value)

    watched = Watched()
    assert at_once(watched, "x", 2)[0] == [False, False]
    assert watched.held == [5, 7, 9]
    # the class has it until the object does
    assert at_once(watched, "level", 2) == ([False, False], ["read a.level", "write a.level"] * 2)
    assert (watched.level, Watched.level) == (5, 1)
    for guarded in (Guarded(), Fallback()):
        assert at_once(guarded, "x", 1)[0][0] is False
        assert guarded.x == 3


def test_objects_of_two_classes_are_added_to_at_once() -> None:
    one, other = Thing(), Account2()
    one.x = 1
    source = "def f(a):\n p = «aug_attr x +1»\n done = a in p\n if not done: p[a] += 1\n return done"
    with recording() as log:
        count = function(source)
        assert [count(thing) for thing in (one, other, one, other, one)] == [False, False, True, True, True]
        assert log.events({id(one): "one", id(other): "other"}) == [
            f"{op} {name}.x" for name in ("one", "other", "one", "other", "one") for op in ("read", "write")
        ]
    assert (one.x, other.x) == (4, 3)


def test_constant_operand_in_the_probe() -> None:
    for step, expected in (("+1", 3), ("-2", -3)):
        account = Account()
        source = f"def f(a):\n p = «aug_attr balance {step}»\n if a not in p: p[a] += {step}\n return a in p"
        with recording() as log:
            assert function(source)(account) is True
            assert account.balance == expected
            assert log.events({id(account): "a"}) == 2 * ["read a.balance", "write a.balance"]
        # nobody listens
        assert function(source)(account) is False


@pytest.mark.parametrize(("value", "error"), [(10**400, OverflowError), (None, TypeError), ("text", TypeError)])
def test_failed_addition_raises_as_in_the_interpreter(value: Any, error: type[Exception]) -> None:
    thing, other = Thing(), Thing()
    thing.x, other.x = value, 1
    with recording():
        add = function("def f(a, b):\n p = «aug_attr x +»\n if not p(a, b): p[a] += b")
        add(other, 1.5)
        with pytest.raises(error):
            add(thing, 1.5)
    assert thing.x == value


def test_noise_separates_the_halves_of_an_addition() -> None:
    """What is done at once is what one step of the interpreter would be; noise takes it apart all the same."""
    thing = Thing()
    thing.x = 0
    source = "def f(a, n):\n p = «aug_attr x +1»\n for i in range(n):\n  if a not in p: p[a] += 1"
    with recording() as log:
        with scheduled(Noise(7)):
            count = function(source)
            both = threading.Barrier(2)  # else one can be done before the other begins

            def work() -> None:
                both.wait()
                count(thing, 300)

            workers = [threading.Thread(target=work) for _ in range(2)]
            for worker in workers:
                worker.start()
            for worker in workers:
                worker.join()
        records = [record for record in log.read() if record.op < 2]
    between = [one.thread != other.thread for one, other in itertools.pairwise(records) if one.op == 0]
    assert 0 < sum(between) < len(between)
    assert 0 < thing.x < 600  # a late write can undo any number of the other's


def test_methods_properties_and_descriptors_are_not_data() -> None:
    logs("«load_attr deposit»[a].deposit", "", Account())
    logs("«load_attr double»[a].double", "", Account())
    logs("«method notify»[a].notify()", "read a.notify", Account())


def test_slots() -> None:
    logs("«store_attr x»[a].x = 1; «load_attr x»[a].x", "write a.x; read a.x", Slotted())


def test_class_attribute_is_read_from_object_and_class() -> None:
    account = Account()
    logs("«load_attr bank»[a].bank", "read a.bank; read Account.bank", account, names={"Account": Account})
    logs("«store_attr bank»[a].bank = 1", "write a.bank", account, names={"Account": Account})
    logs("«load_attr bank»[a].bank", "read a.bank", account, names={"Account": Account})


def test_attributes_of_classes() -> None:
    class Base:
        count = 0

        def method(self) -> None:
            pass

    class Derived(Base):
        pass

    names = {"Base": Base}
    logs("«load_attr count»[a].count", "read Base.count", Derived, names=names)
    logs("«load_attr method»[a].method", "", Derived, names=names)
    logs("«aug_attr count»[a] += 1", "read Base.count; write a.count", Derived, names=names)
    assert (Base.count, Derived.count) == (0, 1)
    logs("«load_attr RED»[a].RED", "", Color)


def test_changed_class_is_looked_up_again() -> None:
    class Changing:
        pass

    thing: Any = Changing()
    thing.x = 1
    with recording() as log:
        load = function("def f(a): return «load_attr x»[a].x")
        for change in (None, property(lambda self: 5), None):
            if change is not None:
                Changing.x = change  # type: ignore[attr-defined]
            elif "x" in vars(Changing):
                del Changing.x
            load(thing)
            load(Account2())  # or the second read would be left out as a repetition
        assert log.events({id(thing): "a"}) == ["read a.x", "read a.x"]


def test_sites_that_meet_many_types() -> None:
    makers = [type(f"T{number}", (), {}) for number in range(5)]
    things = [make() for make in makers]
    with recording() as log:
        store = function("def f(a): «store_attr x»[a].x = 1")
        for _ in range(3):
            for thing in things:
                store(thing)
        writes = [record for record in log.read() if OPS[record.op] == "write"]
        names = {number: name for _, number, _, name in log.definitions_of("type")}
        assert [names[record.type] for record in writes] == [f"T{number}" for number in range(5)] * 3


def test_cached_property_is_written_the_first_time() -> None:
    account = Account()
    source = "return «load_attr history»[a].history"
    logs(source, "read a.history; write a.history", account)
    logs(source, "read a.history", account)


def test_classes_with_their_own_attribute_access() -> None:
    logs("«load_attr x»[a].x; «store_attr x»[a].x = 1", "", Guarded())
    logs("«load_attr x»[a].x; «load_attr y»[a].y", "read a.x; read a.y", Fallback())
    logs("«call object.__setattr__»(object.__setattr__, a, 'x', 2)", "write a.x", Guarded())
    logs("«call object.__getattribute__»(object.__getattribute__, a, 'x')", "read a.x", Guarded())


def test_unshared_objects_are_not_logged() -> None:
    local = threading.local()
    logs("«store_attr x»[a].x = 1; «load_attr x»[a].x", "", local)
    logs("«load_attr real»[a].real; «load_attr upper»[b].upper", "", 5, "text")


def test_functions_and_namespaces_have_attributes() -> None:
    def counted() -> None:
        pass

    logs("«store_attr calls»[a].calls = 1; «load_attr __name__»[a].__name__", "write a.calls", counted)
    logs("«store_attr x»[a].x = 1; «load_attr x»[a].x", "write a.x; read a.x", types.SimpleNamespace())


def test_object_and_its_dict_are_one_location() -> None:
    account = Account()
    with recording() as log:
        function("def f(a): «item»[«load_attr __dict__»[a].__dict__, 'balance'] = 7")(account)
        alias, write = [record for record in log.read() if OPS[record.op] in ("alias", "write")]
        assert (alias.object, alias.key) == (id(account.__dict__), id(account))
        assert write.object == alias.object
        function("def f(a): «store_attr balance»[a].balance = 7")(account)
        hashes = {number: hash_ for _, number, _, hash_ in log.definitions_of("name")}
        assert hashes[log.read()[-1].key] == write.key
        function("def f(a): vars(«argument vars»[a])")(account)
        assert OPS[log.read()[-1].op] == "alias"


def test_modules() -> None:
    module = types.ModuleType("watched")
    module.counter = 0  # type: ignore[attr-defined]
    module.constant = 0  # type: ignore[attr-defined]
    names = {"m": module.__dict__}
    with recording():
        prepared("", shared=("counter",), module="watched")
        _log.register_module(module.__dict__, "watched")
    logs("«load_attr counter»[a].counter", "read m.counter", module, names=names)
    logs("«load_attr constant»[a].constant", "", module, names=names)
    logs("«store_attr constant»[a].constant = 1", "write m.constant", module, names=names)
    logs("«load_attr constant»[a].constant", "read m.constant", module, names=names)


def test_first_augmented_assignment_to_a_module_reads_too() -> None:
    module = types.ModuleType("elsewhere")
    module.counter = 0  # type: ignore[attr-defined]
    run = function("def f(m):\n «aug_attr counter»[m] += 1")
    with recording() as log:
        run(module)
        assert log.events({id(module.__dict__): "m"}) == ["read m.counter", "write m.counter"]
    assert module.counter == 1


def test_reads_of_what_loaded_code_stores_to_modules_are_logged() -> None:
    module = types.ModuleType("settings")
    module.chosen = module.other = 0  # type: ignore[attr-defined]
    names = {"m": module.__dict__}
    logs("«load_attr chosen»[a].chosen", "", module, names=names)
    _probes.make_probes(Plan("m", "m.py", [], [Function("<module>", 1)], [], [], ["chosen"]), 1)
    logs("«load_attr chosen»[a].chosen", "read m.chosen", module, names=names)
    logs("«load_attr other»[a].other", "", module, names=names)


def test_attributes_by_name() -> None:
    account = Account()
    logs("«call getattr»(getattr, a, 'balance')", "read a.balance", account)
    logs("«call hasattr»(hasattr, a, 'nothing')", "read a.nothing", account)
    logs("«call setattr»(setattr, a, 'balance', 2)", "write a.balance", account)
    logs("«call delattr»(delattr, a, 'balance')", "write a.balance", account)
    logs("«call getattr»(b, a, 'balance')", "", account, lambda *_: None)


# --- items ----------------------------------------------------------------------------------------------------------


def test_items_of_a_dict() -> None:
    logs("«item»[a, 'k']", "read a['k']", {"k": 1})
    logs("«item»[a, 'k'] = 1", "write a['k']", {"k": 1})
    logs("«item»[a, 'k'] = 1", "write a['k']; write a", {})
    logs("del «item»[a, 'k']", "write a['k']; write a", {"k": 1})
    logs("«aug_item»[a, 'k'] += 1", "read a['k']; write a['k']", {"k": 1})
    logs("«item»(a, 'k', 3); «item»(a, 'k')", "write a['k']; write a; read a['k']", {})


def test_items_of_a_sequence() -> None:
    for make in (list, bytearray, lambda values: array.array("i", values), collections.deque):
        logs("«item»[a, 1]", "read a[1]", make([1, 2, 3]))
        logs("«item»[a, -1]", "read a[2]; read a", make([1, 2, 3]))
        logs("«item»[a, 1] = 4", "write a[1]", make([1, 2, 3]))
        logs("del «item»[a, 1]", "write a[1]; write a[2]; write a", make([1, 2, 3]))
    logs("«item»[a, slice(1, 2)]", "read a[1]", [1, 2])
    logs("«item»[a, slice(None, 1)]", "read a[0]", [1, 2])
    logs("«item»[a, slice(1, 5)]; «item»[a, slice(1, None)]", "read a[1]; read a; read a[1]; read a", [1, 2])
    logs("«item»[a, slice(-1, 2)]", "read a[1]; read a", [1, 2])
    logs("«item»[a, slice(None, None, 2)]", "read a[0]; read a[2]; read a", [1, 2, 3])
    logs("«item»[a, slice(None, None, -1)]", "read a[1]; read a[0]; read a", [1, 2])
    logs("«item»[a, slice(1, 2)] = []", "write a[1]; write a[2]; write a", [1, 2, 3])
    logs("«item»[a, slice(None, None, -1)] = [3, 4]", "write a[0]; write a[1]; write a", [1, 2])
    logs("del «item»[a, slice(1, 2)]", "write a[1]; write a[2]; write a", [1, 2, 3])
    logs("«item»[a, slice(5, 90)]", "read a[5:90]", list(range(100)))
    logs("«item»[a, slice(5, 90)] = []", "write a[5:]; write a", list(range(100)))
    logs("«item»[a, slice(90, 4, -1)]", "read a[5:91]; read a", list(range(100)))


def test_dictionaries_of_collections() -> None:
    logs("«item»[a, 'k']", "read a['k']; write a['k']; write a", collections.defaultdict(int))
    logs("«item»[a, 'k']", "read a['k']", collections.defaultdict(int, k=1))
    logs("«item»[a, 'k'] = 1", "write a['k']; write a", collections.OrderedDict())
    logs("«aug_item»[a, 'k'] += 1", "read a['k']; write a['k']; write a", collections.Counter())
    logs("«item»[a, 'k'] = 1; «item»[a, 'k']", "write a['k']; write a; read a['k']", collections.ChainMap())


def test_weak_dictionaries() -> None:
    class Key:
        pass

    key, other = Key(), Key()
    values = weakref.WeakValueDictionary[str, Key]({"k": key})
    logs("«item»[a, 'k']; «item»[a, 'j'] = b", "read a['k']; write a['j']; write a", values, other)
    logs("del «item»[a, 'j']", "write a['j']; write a", values)
    keys = weakref.WeakKeyDictionary[Key, int]({key: 1})
    logs("«item»[a, b]; «item»[a, b] = 2", "read a[b]; write a[b]; write a", keys, key)


def test_classes_that_extend_containers() -> None:
    class Table(dict[str, int]):
        pass

    class Odd(dict[str, int]):
        def __getitem__(self, key: str) -> int:
            return 5

    logs("«item»[a, 'k'] = 1; «item»[a, 'k']", "write a['k']; write a; read a['k']", Table())
    logs("«item»[a, 'k']", "", Odd())
    logs("«method append»[a].append(1)", "write a", type("Items", (list,), {})())
    logs("«method append»[a].append(1)", "", type("Items", (list,), {"append": lambda self, x: None})())
    logs("list(«argument list»[a])", "", type("Items", (list,), {"__iter__": lambda self: iter(())})([1]))


def test_inherited_method_writes_nothing_that_the_class_itself_stores() -> None:
    class Stored(collections.OrderedDict[Any, Any]):
        def __setitem__(self, key: Any, value: Any) -> None:
            super().__setitem__(key, value)

    class Looked(Stored):
        def __getitem__(self, key: Any) -> Any:
            return super().__getitem__(key)

    class Plain(dict[Any, Any]):
        def __setitem__(self, key: Any, value: Any) -> None:
            raise AssertionError("not called by update")

    update = "«keyed_method update»[a, b].update(b)"
    setdefault = "«keyed_method setdefault»[a, 1].setdefault(1, 2)"
    logs(update, "read b; read b[1]", Stored(), {1: 2})
    logs(setdefault, "", Stored())
    logs(setdefault, "read a[1]", Stored({1: 2}))
    logs(setdefault, "", Looked({1: 2}))
    logs(setdefault, "write a[1]; write a", collections.OrderedDict())
    # dict's own methods do not call what the class has
    logs(update, "read b; read b[1]; write a[1]; write a", Plain(), {1: 2})


def test_methods_of_a_container_by_super() -> None:
    class Items(list[Any]):
        pass

    class Table(dict[Any, Any]):
        def __setitem__(self, key: Any, value: Any) -> None:
            pass

    class Between(Table):
        pass

    logs("«method append»[super(b, a)].append(1)", "write a", Items(), Items)
    logs("«late_method append»[super(b, a)](int('1'))", "write a", Items(), Items)
    logs("«keyed_method __setitem__»[super(b, a), 1].__setitem__(1, 2)", "write a[1]; write a", Table(), Table)
    # this is code of the class in between
    logs("«keyed_method __setitem__»[super(b, a), 1].__setitem__(1, 2)", "", Between(), Between)


class Exotic:
    calls: list[str] = []  # noqa: RUF012

    def __hash__(self) -> int:
        self.calls.append("hash")
        return 1

    def __eq__(self, other: object) -> bool:
        self.calls.append("eq")
        return self is other


class Point:
    """Known by its identity."""


def test_keys() -> None:
    point = Point()
    for key, shown in (
        *(
            (1, "1"),
            (True, "1"),
            (1.0, "1.0"),
            (-7, "-7"),
            (-1, "-1"),
            (-1.0, "-1.0"),
            (-2, "-2"),
            (2.5, "2.5"),
            (None, "None"),
            (b"x", "b'x'"),
        ),
        *((("a", 1), "('a', 1)"), (10**30, str(10**30))),
    ):
        assert logged("«item»[a, b]", {key: 1}, key) == [f"read a[{shown}]"]
    logs("«item»[a, b]", "read a[b]", {point: 1}, point)
    logs("«item»[a, b]", "read a[b]", {Color.RED: 1}, Color.RED)
    logs("«item»[a, b]", "read a['x']", {type("T", (str,), {})("x"): 1}, type("T", (str,), {})("x"))
    logs("«item»[a, b] = 1", "write a[*]; write a", {}, Exotic())


def test_equal_numbers_are_one_key() -> None:
    with recording() as log:
        function("def f(a, keys):\n for k in keys: «item»[a, k] = 0")({}, [1, 1.0, True, 1 + 0j])
        writes = {(r.key_kind, r.key) for r in log.read() if OPS[r.op] == "write" and r.key_kind == 4}
        assert len(writes) == 1


def test_only_the_access_runs_code_of_the_program() -> None:
    table = {Exotic(): 1}
    key = next(iter(table))
    for statement in ("«item»[a, b]", "«item»[a, b] = 2", "«keyed_method get»[a, b].get(b)", "b in «contains»[a, b]"):
        plain = statement.replace("«item»[a, b]", "a[b]").replace("«keyed_method get»[a, b]", "a")
        plain = plain.replace("«contains»[a, b]", "a")
        calls = []
        for source in (plain, statement):
            Exotic.calls.clear()
            logged(source, table, key)
            calls.append(list(Exotic.calls))
        assert calls[0] == calls[1], statement


def test_keys_can_be_redacted() -> None:
    with recording(redact_keys=True) as log:
        function("def f(a): «item»[a, 'secret'] = 1")({})
        assert [message[3] for message in log.definitions_of("key")] == ["<key>"]


# --- names ----------------------------------------------------------------------------------------------------------


def test_globals_and_closure_variables() -> None:
    with recording() as log:
        names = prepared("G = 1\ndef f(v=2):\n global G\n G = «store_name G»[v]\n return «load_name G»[G]")
        assert names["f"]() == 2
        assert log.events({id(names): "m"}) == ["write m.G", "read m.G"]
        source = "def f():\n c = «cells»[None]\n x = «store_cell x»[5, c]\n return «load_cell x»[x, c], c"
        value, token = function(source)()
        assert value == 5
        assert log.events({id(token): "f"}) == ["write f.x", "read f.x"]


# --- methods and functions with effects -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "source", "expected"),
    [
        (lambda: [1], "«method append»[a].append(1)", "write a"),
        (lambda: [1, 2], "«method pop»[a].pop()", "write a[1]; write a"),
        (lambda: [1, 2, 3], "«keyed_method pop»[a, 1].pop(1)", "write a[1]; write a[2]; write a"),
        (lambda: [2, 1], "«method sort»[a].sort()", "write a[0]; write a[1]; write a"),
        (lambda: [2, 1], "«method index»[a].index(1)", "read a; read a[0]; read a[1]"),
        (lambda: list(range(100)), "«method reverse»[a].reverse()", "write a[0:]; write a"),
        (lambda: {"k": 1}, "«keyed_method get»[a, 'k'].get('k')", "read a['k']"),
        (dict, "«keyed_method setdefault»[a, 'k'].setdefault('k', 1)", "write a['k']; write a"),
        (lambda: {"k": 1}, "«keyed_method setdefault»[a, 'k'].setdefault('k', 1)", "read a['k']"),
        (lambda: {"k": 1}, "«keyed_method pop»[a, 'k'].pop('k')", "write a['k']; write a"),
        (dict, "«keyed_method pop»[a, 'k'].pop('k', 0)", "read a['k']"),
        (lambda: {1: 1}, "«method popitem»[a].popitem()", "write a[1]; write a"),
        (lambda: {1: 1}, "«method clear»[a].clear()", "write a[1]; write a"),
        (lambda: {1: 1}, "«keyed_method update»[a, {1: 2}].update({1: 2})", "write a[1]"),
        (dict, "«method update»[a].update(k=1)", "write a[*]; write a"),
        (set, "«keyed_method add»[a, 1].add(1)", "write a[1]; write a"),
        (lambda: {1}, "«keyed_method add»[a, 1].add(1)", "write a[1]"),
        (lambda: {1}, "«keyed_method discard»[a, 2].discard(2)", "read a[2]"),
        (lambda: collections.deque([1, 2]), "«method popleft»[a].popleft()", "write a[0]; write a"),
        (lambda: collections.deque([1]), "«method appendleft»[a].appendleft(1)", "write a"),
        (lambda: [1], "len(«argument len»[a])", "read a"),
        (lambda: [1], "sorted(«argument sorted»[a])", "read a; read a[0]"),
        (lambda: {1: 2}, "sum(«argument sum»[a.values()])", "read a; read a[1]"),
        (lambda: {1: 2}, "len(«argument len»[a.keys()])", "read a"),
        (lambda: {1: 2}, "list(«argument list»[a])", "read a"),
        (lambda: {1: 2}, "sorted(«argument sorted»[a.keys()])", "read a"),
        (lambda: {1: 2}, "[*«unpack»[a]]", "read a"),
        (lambda: {1: 2}, "{**«unpack **»[a]}", "read a; read a[1]"),
        (lambda: {1: 2}, "dict(«argument dict»[a])", "read a; read a[1]"),
        (lambda: {1}, "list(«argument list»[a])", "read a; read a[1]"),
        (lambda: [2, 1], "b(«argument heapq.heapify»[a])", "write a[0]; write a[1]; write a"),
        (lambda: {1: [2]}, "b(«argument json.dumps»[a])", "read a; read a[1]"),
        (lambda: [1], "«call operator.iadd»(__import__('operator').iadd, a, [2])", "write a"),
        (lambda: {1: 2}, "«call operator.setitem»(__import__('operator').setitem, a, 1, 3)", "write a[1]"),
        (lambda: [1], "if «truth»[a]: pass", "read a"),
        (lambda: [1, 2], "x, y = «unpack»[a]", "read a; read a[0]; read a[1]"),
        (lambda: {1}, "1 in «contains»[a, 1]", "read a[1]"),
        (lambda: [1], "«late_contains»[1, a]", "read a; read a[0]"),
        (lambda: {1: 1}, "«late_contains»[1, a]", "read a[1]"),
        (lambda: [5, 6], "for x in «iterate»[a]: pass", "read a[0]; read a; read a[1]; read a"),
        # code can run between two steps, and others with it: a second step is another read
        (lambda: {1: 2}, "for x in «iterate»[a.items()]: pass", "read a[1]; read a; read a"),
        (lambda: {1, 2}, "for x in «iterate»[a]: pass", "read a; read a"),
        (lambda: {1: 2}, "for x in «iterate»[a]: pass", "read a; read a"),
        (lambda: {1, 2}, "[x for x in «iterate»[a]]", "read a; read a"),
        (lambda: {1, 2}, "for x in «iterate»[a]: break", "read a"),
        (lambda: set(), "for x in «iterate»[a]: pass", "read a"),
        (lambda: {1, 2}, "list(«call map»(map, str, a))", "read a"),
        (lambda: [5], "list(«call map»(map, str, a))", "read a[0]; read a"),
        (lambda: [5], "list(enumerate(«argument enumerate»[a]))", "read a[0]; read a"),
        (lambda: [1], "«late_method append»[a](int('1'))", "write a"),
        (lambda: {1: 1}, "«late_method get»[a](int('1'))", "read a[1]"),
    ],
)
def test_effects(make: Callable[[], Any], source: str, expected: str) -> None:
    import json
    import operator  # the call probes know functions of modules that are imported

    assert operator
    logs(source, expected, make(), json.dumps if "json" in source else lambda *_: None)


def test_extending_reads_what_is_added() -> None:
    logs("«keyed_method extend»[a, b].extend(b)", "read b; read b[0]; write a", [], [1])
    logs("«keyed_method join»[a, b].join(b)", "read b; read b[0]", ",", ["x"])
    logs("«keyed_method extend»[a, b].extend(b)", "read b; write a", [], {1: 2})
    logs("«keyed_method update»[a, b].update(b)", "read b; read b[1]; write a[1]; write a", {}, {1: 2})


def test_copies_read_the_fields() -> None:
    import copy

    account = Account()
    logs("b(«argument copy.copy»[a])", "read a.balance; read a.notify", account, copy.copy)


def test_super_setattr() -> None:
    class Careful:
        def __init__(self) -> None:
            pass

    careful = Careful()
    logs("«keyed_method __setattr__»[super(b, a), 'x'].__setattr__('x', 1)", "write a.x", careful, Careful)


# --- regions --------------------------------------------------------------------------------------------------------


def test_regions_begin_and_end_at_the_site_of_their_begin() -> None:
    account = Account()
    with recording() as log:
        marks = "del «begin»[a], «end»[None]\n «resume»[None]\n «suspend»[None]"
        source = f"def f(a):\n {marks}\n return («span»[None], 5)[1]"
        assert function(source)(account) == 5
        # garbage of others may be collected meanwhile
        records = [record for record in log.read() if OPS[record.op] != "free"][1:]
        shown = [OPS[record.op] for record in records]
        assert shown == ["begin", "end", "begin", "end", "begin", "end"]
        assert len({record.site for record in records[:4]}) == 1
        assert records[0].object == id(account)


# --- the program is sacred ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("plain", "probed"),
    [
        ("a.nothing", "«load_attr nothing»[a].nothing"),
        ("a.nothing += 1", "«aug_attr nothing»[a] += 1"),
        ("{}['k']", "«item»[{}, 'k']"),
        ("[][5]", "«item»[[], 5]"),
        ("[][5] = 1", "«item»[[], 5] = 1"),
        ("del {}['k']", "del «item»[{}, 'k']"),
        ("5['k']", "«item»[5, 'k']"),
        ("{}[[]]", "«item»[{}, []]"),
        ("for x in 5: pass", "for x in «iterate»[5]: pass"),
        ("1 in 5", "«late_contains»[1, 5]"),
        ("a.append(1)", "«method append»[a].append(1)"),
        ("[].pop(int('3'))", "«late_method pop»[[]](int('3'))"),
        ("getattr(a, 'no')", "«call getattr»(getattr, a, 'no')"),
    ],
)
@pytest.mark.filterwarnings("ignore::SyntaxWarning")
def test_errors_are_the_same_and_show_no_frame_of_ours(plain: str, probed: str) -> None:
    shown = []
    with recording():
        for source in (plain, probed):
            try:
                function(f"def f(a):\n {source}")(Account())
            except Exception as error:
                shown.append(
                    (type(error), str(error), [frame.name for frame in traceback.extract_tb(error.__traceback__)])
                )
    assert len(shown) == 2
    assert shown[0] == shown[1]


def test_values_are_passed_through() -> None:
    thing = Account()
    for recorded in (False, True):
        with recording() if recorded else pytest.MonkeyPatch.context():
            for kind in (
                "load_attr",
                "store_attr",
                "load_name",
                "store_name",
                "method",
                "argument",
                "iterate",
                "unpack",
            ):
                assert function(f"def f(a): return «{kind} len»[a]")(thing) is thing
            for kind in ("truth", "with", "await", "suspend", "resume", "source"):
                assert function(f"def f(a): return «{kind}»[a]")(thing) is thing
            for kind in ("contains", "keyed_method get", "load_cell", "store_cell"):
                assert function(f"def f(a): return «{kind}»[a, 'k']")(thing) is thing


def test_references_are_balanced() -> None:
    thing, table, items = Account(), {"k": object()}, [object()]
    source = """
def f(a, d, l, v):
    «store_attr x»[a].x = v
    «load_attr x»[a].x
    «item»[d, 'k'] = v
    «item»[d, 'k']
    «item»(d, 'n', v)
    del «item»[d, 'n']
    «item»[l, 0] = v
    «item»[l, 0]
    «item»[l, -1]
    «late_method append»[l](v)
    «keyed_method pop»[l, 1].pop(1)
    for x in «iterate»[l]: pass
    for x in «iterate»[d.items()]: pass
    x = None
    «call setattr»(setattr, a, 'x', v)
    del «begin»[a], «end»[None]
    list(«call zip»(zip, l, d))
    return v
"""
    value = object()
    with recording(1 << 18):
        run = function(source)
        run(thing, table, items, value)
        before = [sys.getrefcount(x) for x in (thing, table, items, value)]
        for _ in range(200):
            run(thing, table, items, value)
        assert [sys.getrefcount(x) for x in (thing, table, items, value)] == before


def test_source_given_to_exec() -> None:
    calls: list[Any] = []

    def dynamic(text: str | bytes, mode: str, namespace: dict[str, Any], flags: int) -> Any:
        calls.append((text, mode))
        return "1 + 2"

    run = function("def f(text): return eval(«source eval»[text])")
    assert run("5") == 5
    _probes.set_dynamic(dynamic)
    try:
        assert run("5") == 3
        assert run(compile("6", "", "eval")) == 6
    finally:
        _probes.set_dynamic(None)
    assert calls == [("5", "eval")]


def test_repr_of_probes() -> None:
    run = function("def f(a): return «load_attr x»[a].x")
    assert _probes.is_instrumented(run.__code__)
    assert not _probes.is_instrumented(logs.__code__)
    assert repr(run.__code__.co_consts[1]) == "<atomsan load_attr x>"


def test_repeated_read_is_logged_once() -> None:
    thing = Account()
    with recording() as log:
        run = function("def f(a):\n for _ in range(10): «load_attr balance»[a].balance")
        run(thing)
        assert log.events({id(thing): "a"}) == ["read a.balance"]
        assert isinstance(log, Log)


class Careful(dict[Any, Any]):
    """Has a `__setitem__` and a `__delitem__` of its own, which call those of dict in the way that is not `super()`."""

    def __setitem__(self, key: Any, value: Any) -> None:
        raise AssertionError("not to be called")

    __delitem__ = __setitem__  # type: ignore[assignment]


@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ("«call dict.__setitem__»(dict.__setitem__, a, 1, 3)", "write a[1]"),
        ("«call dict.__setitem__»(dict.__setitem__, a, 2, 3)", "write a[2]; write a"),
        ("«call dict.__delitem__»(dict.__delitem__, a, 1)", "write a[1]; write a"),
    ],
)
def test_base_class_method_called_explicitly(call: str, expected: str) -> None:
    logs(call, expected, Careful({1: 2}))
