"""Values of fields on the path of an atomic set: which are logged, and that nothing of the program runs for it."""

from __future__ import annotations

import importlib
import itertools
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import atomsan
from atomsan import InputError, Specification
from atomsan.recorder.log.recording import Recording
from atomsan.recorder.log.tape import Tape
from atomsan.recorder.python import _probes
from atomsan.recorder.python.language import PYTHON
from recorder.probing import prepared, recording
from recorder.raw import OPS, log, module, record

_numbers = itertools.count()


@pytest.fixture
def recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Tape]]:
    """Runs a source as a module, and gives the tape."""
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("ATOMSAN_CACHE", "")
    names: list[str] = []

    def run(source: str, *paths: str, of: str = "Account") -> Tape:
        names.append(f"holding_{next(_numbers)}")
        (tmp_path / f"{names[-1]}.py").write_text(source)
        importlib.invalidate_caches()
        spec = Specification(sets={of: paths}) if paths else None
        with atomsan.recording(include=[names[-1]], spec=spec) as tape:
            importlib.import_module(names[-1])
        return tape

    yield run
    for name in names:
        sys.modules.pop(name, None)


CLASSES = """
import collections
class Log:
    def __init__(self, n=0):
        self.entries = n
class Account:
    def __init__(self, log):
        self.log = log
"""


def uses(made: str, *steps: str) -> str:
    """A program that makes an account whose log is `made`, reads it, and takes some steps."""
    return "\n".join(
        [CLASSES, "def main():", f"    a = Account({made})", "    a.log", *(f"    {s}" for s in steps), "main()"]
    )


@pytest.mark.parametrize(
    ("made", "count"),
    [
        ("Log()", 1),
        ("[Log(), Log()]", 2),
        ("(Log(), 3, Log())", 2),
        ("{'a': Log(), 'b': None}", 1),
        ("{Log(), Log()}", 2),
        ("frozenset([Log()])", 1),
        ("collections.deque([Log(), Log()])", 2),
        ("collections.OrderedDict(a=Log())", 1),
        ("collections.defaultdict(Log, a=Log())", 1),
        ("{'a': [Log(), (Log(),)]}", 2),
        ("None", 0),
        ("Log", 0),
    ],
)
def test_values_of_fields_are_logged(recorded: Callable[..., Tape], made: str, count: int) -> None:
    meta = recorded(uses(made), "log.entries").meta
    assert meta.holders == {f"Log #{number + 1}": ["Account #1.log"] for number in range(count)}
    assert meta.followed == {"Account": ["log"]}


def test_other_fields_are_not_logged(recorded: Callable[..., Tape]) -> None:
    for paths in ((), ("log",), ("entries.log",)):
        meta = recorded(uses("Log()"), *paths).meta
        assert meta.holders == {}
        assert meta.fields == {"Account.log": ["Log"]}  # but of which class it is, always
    assert recorded(uses("Log()"), "log.entries", of="Other").meta.holders == {}


def test_names_of_fields(recorded: Callable[..., Tape]) -> None:
    tape = recorded(uses("[Log() for _ in range(3)]", "for one in a.log: one.entries += 1"), "log.entries")
    objects = set(filter(None, tape.symbols.locations.columns["object"]))
    assert set(tape.meta.holders) == {"Log #1", "Log #2", "Log #3"} <= objects


def test_slots_class_defaults_and_cached_properties(recorded: Callable[..., Tape]) -> None:
    source = """
import functools
class Log:
    def __init__(self): self.entries = 0
class Slotted:
    __slots__ = ("log",)
    def __init__(self): self.log = Log()
class Default:
    log = None
    def __init__(self): self.log = Log()
class Cached:
    made = 0
    @functools.cached_property
    def log(self):
        Cached.made += 1
        return Log()
def main():
    for one in (Slotted(), Default(), Cached()):
        one.log
        one.log
        getattr(one, "log")
main()
assert Cached.made == 1
"""
    holders = recorded(source, "log.entries", of="[SDC]*").meta.holders
    assert holders == {"Log #1": ["Slotted #1.log"], "Log #2": ["Default #1.log"], "Log #3": ["Cached #1.log"]}


def test_field_read_by_getattr(recorded: Callable[..., Tape]) -> None:
    source = CLASSES + "def main():\n    a = Account(Log())\n    getattr(a, 'log')\nmain()\n"
    assert recorded(source, "log.entries").meta.holders == {"Log #1": ["Account #1.log"]}


def test_object_in_two_fields_and_replaced_value(recorded: Callable[..., Tape]) -> None:
    steps = ("b = Account(a.log)", "b.log", "b.log = Log()", "b.log")
    holders = recorded(uses("Log()", *steps), "log.entries").meta.holders
    assert holders == {"Log #1": ["Account #1.log", "Account #2.log"], "Log #2": ["Account #2.log"]}


def test_reused_address_is_another_object(recorded: Callable[..., Tape]) -> None:
    """The new log is where the old one was, and so is the new account."""
    source = (
        CLASSES
        + """
addresses = set()
def one():
    a = Account(Log())
    addresses.add((id(a), id(a.log)))
    a.log.entries += 1
    a.log = None
    a.log = Log()
    a.log.entries += 1
def main():
    for _ in range(100):
        one()
main()
assert len(addresses) < 100
"""
    )
    holders = recorded(source, "log.entries").meta.holders
    assert holders == {f"Log #{n}": [f"Account #{(n + 1) // 2}.log"] for n in range(1, 201)}


def test_same_value_in_a_new_holder_at_the_same_address(recorded: Callable[..., Tape]) -> None:
    source = (
        CLASSES
        + """
log = Log()
def one():
    a = Account(log)
    a.log.entries += 1
def main():
    for _ in range(3):
        one()
main()
"""
    )
    assert recorded(source, "log.entries").meta.holders == {"Log #1": [f"Account #{n}.log" for n in (1, 2, 3)]}


@pytest.mark.parametrize("add", ["append(Log())", "insert(0, Log())", "extend([Log()])"])
def test_growing_list(recorded: Callable[..., Tape], add: str) -> None:
    steps = ("for _ in range(40):", f"    a.log.{add}", "a.log[0].entries", "a.log")
    tape = recorded(uses("[]", *steps), "log.entries")
    assert len(tape.meta.holders) == 40


@pytest.mark.parametrize("made", ["[Log() for _ in range(3000)]", "{n: [Log()] for n in range(1500)}",
                                  "[[Log() for _ in range(700)] for _ in range(3)]"])  # fmt: skip
def test_large_container_is_logged_whole_at_first(recorded: Callable[..., Tape], made: str) -> None:
    tape = recorded(uses(made), "log.entries")
    expected = sum(1 for of in set(tape.symbols.locations.columns["object"]) if of and of.startswith("Log #"))
    assert expected >= 1500
    assert len(tape.meta.holders) == expected
    assert {tuple(holders) for holders in tape.meta.holders.values()} == {("Account #1.log",)}
    assert tape.meta.complete


def test_exchanged_elements_are_found_after_a_while(recorded: Callable[..., Tape]) -> None:
    steps = ("for n in range(500): a.log[n] = Log()", "for _ in range(500): a.log", "a.log[0].entries")
    tape = recorded(uses("[Log() for _ in range(500)]", *steps), "log.entries")
    assert len(tape.meta.holders) == 1000


def test_values_of_fields_are_no_events(recorded: Callable[..., Tape]) -> None:
    source = uses("[Log() for _ in range(300)]", "for _ in range(20): a.log")
    assert recorded(source).events == recorded(source, "log.entries").events


EVERYTHING = """
import functools
class Log:
    total = 0
    def __init__(self): self.entries, self.by_name = [], {}
    @functools.cached_property
    def first(self): return Slotted(self)
class Slotted:
    __slots__ = ("log", "n")
    def __init__(self, log): self.log, self.n = log, 0
def main():
    logs = [Log(), Log()]
    for log in logs:
        log.entries += [Slotted(log)]
        log.entries.append(log.first)
        log.by_name["a"] = log.first
        log.total += 1
        log.first.n += 1
        log.first.log.entries[0].n -= 1
        getattr(log, "entries")[0].n = 3
        setattr(log, "total", log.total + len(log.entries))
        for one in log.entries:
            one.log.total |= one.n
        vars(log)["total"] += 1
        del log.first
    print([log.total for log in logs])
main()
"""


@pytest.mark.parametrize("path", ["**", "*.*", "log.**", "first.log.entries.n"])
def test_events_are_the_same_with_and_without(
    recorded: Callable[..., Tape], capfd: pytest.CaptureFixture[str], path: str
) -> None:
    def events(*paths: str) -> list[tuple[Any, ...]]:
        tape = recorded(EVERYTHING, *paths, of="*")
        variables = tape.symbols.locations
        return [
            (
                event.op,
                event.site and event.site.partition(":")[2],
                *(variables.get(number, of) for of in ("class", "field")),
            )
            for event, number in _accesses(tape)
        ]

    plain, followed = events(), events(path)
    assert len(plain) > 100
    assert plain == followed
    first, second = capfd.readouterr().out.splitlines()
    assert first == second


def _accesses(tape: Tape) -> Iterator[tuple[Any, int]]:
    for event in atomsan.Trace.from_source(tape.reopened()).events():
        number = tape.symbols.locations.find(event.target) if event.op.short in "rw" else None
        if number is not None:
            yield event, number


def test_repeated_reads_of_a_list_do_not_fill_the_log() -> None:
    source = """
class Log:
    pass
class Account:
    pass
a = Account()
a.log = [Log() for _ in range(300)]
def f():
    for _ in range(2000):
        «load_attr log»[a].log
f()
"""
    _probes.follow([(re.compile("Account"), re.compile("log"))])
    try:
        with recording() as log:
            prepared(source)
            held = [found.object for found in log.read() if OPS[found.op] == "holds"]
    finally:
        _probes.follow_nothing()
    assert len(set(held)) == 300
    assert len(held) < 600


def test_nested_containers(recorded: Callable[..., Tape]) -> None:
    source = """
class Node:
    def __init__(self, after):
        self.value = 0
        self.after = after
class Linked:
    def __init__(self):
        self.head = Node(Node(Node(None)))
def main():
    linked = Linked()
    node = linked.head
    while node is not None:
        node.value += 1
        node = node.after
main()
"""
    holders = recorded(source, "head.**", of="Linked").meta.holders
    assert holders == {"Node #3": ["Linked #1.head"], "Node #2": ["Node #3.after"], "Node #1": ["Node #2.after"]}


def test_container_subclass(recorded: Callable[..., Tape]) -> None:
    """It is looked into, and it is itself an object with fields; what it is called does not change."""
    source = (
        CLASSES
        + """
class Logs(list):
    def __init__(self, *logs):
        super().__init__(logs)
        self.total = 0
    def __iter__(self): raise AssertionError("nobody asked")
    __len__ = __getitem__ = __iter__
def main():
    a = Account(Logs(Log(), Log()))
    a.log
    a.log.total += 1
main()
"""
    )
    plain, followed = recorded(source), recorded(source, "log.entries")
    assert list(plain.symbols.locations) == list(followed.symbols.locations)
    assert followed.meta.holders == {name: ["Account #1.log"] for name in ("Log #1", "Log #2", "Logs #1")}


NOSY = """
ran = []
class Watched:
    def __init__(self): self.entries = 0
    def __eq__(self, other): ran.append("eq"); return NotImplemented
    def __hash__(self): ran.append("hash"); return 1
    def __len__(self): ran.append("len"); return 0
    def __iter__(self): ran.append("iter"); return iter(())
    def __del__(self): ran.append("del")
class Missing:
    def __init__(self): self.there = Watched()
    def __getattr__(self, name): ran.append(f"getattr {name}"); return Watched()
class Nosy:
    def __getattribute__(self, name):
        ran.append(f"getattribute {name}")
        return object.__getattribute__(self, name)
class Property:
    @property
    def log(self): ran.append("property"); return Watched()
    __slots__ = ("slot",)
def main():
    missing = Missing()
    missing.there, missing.log, missing.log.entries
    nosy = Nosy()
    nosy.log = Watched()
    nosy.log
    slotted = Property()
    slotted.log
    try:
        slotted.slot
    except AttributeError as error:
        ran.append(str(error))
    slotted.slot = {Watched(): Watched()}
    slotted.slot
    slotted.slot = None
    try:
        Watched().log
    except AttributeError as error:
        ran.append(str(error))
main()
"""


def test_no_code_of_the_program_runs(recorded: Callable[..., Tape]) -> None:
    names: dict[str, Any] = {"__name__": "nosy"}
    exec(NOSY, names)
    assert len(names["ran"]) > 10
    recorded(NOSY, "**", of="*")
    module = [name for name in sys.modules if name.startswith("holding_")][-1]
    # from 3.13 on, what is wrong is said with the name of the module
    assert [line.replace(module, "nosy") for line in sys.modules[module].ran] == names["ran"]


def test_sets_declared_in_source_are_followed(recorded: Callable[..., Tape]) -> None:
    source = CLASSES.replace("class Account", "import atomsan\n@atomsan.atomic_set('log.entries')\nclass Account")
    meta = recorded(source + "def main():\n    a = Account(Log())\n    a.log\nmain()\n").meta
    assert meta.sets == {"Account": ["log.entries"]}
    assert meta.holders == {"Log #1": ["Account #1.log"]}


def test_invalid_path() -> None:
    for path in ("log..entries", ".log", "**.log", "log.x**"):
        with (
            pytest.raises(InputError, match=r"'sets.Account': .* is no path of fields"),
            atomsan.recording(spec=Specification(sets={"Account": (path,)})),
        ):
            pass
        with pytest.raises(InputError, match="is no path of fields"):
            atomsan.atomic_set(path)


# The resolver, by records. Types 1 and 2 are Account and Log, the names 1 and 2 are log and entries.

DEFINITIONS = [
    module([("load_attr", line + 1, 0, 0, "x") for line in range(9)]),
    *(["type", number, "m", name] for number, name in ((1, "Account"), (2, "Log"))),
    *(["name", number, name, number * 1001] for number, name in ((1, "log"), (2, "entries"))),
]
A, B, L, M = 0x1000, 0x2000, 0x3000, 0x4000


def reads(obj: int, name: int, thread: int = 1) -> tuple[int, ...]:
    return record(thread, "read", obj, name, kind="field", site=1, type=1 if name == 1 else 2)


def holds(holder: int, value: int, **more: Any) -> tuple[int, ...]:
    return record(1, "holds", value, holder, site=1, type=2, **more)


def free(obj: int) -> tuple[int, ...]:
    return record(0, "free", obj)


def resolved(*pieces: list[tuple[int, ...]], keeps_unshared: bool = True) -> Recording:
    recording = Recording(shared=False, ring_bytes=1 << 14, keeps_unshared=keeps_unshared, language=PYTHON)
    for message in DEFINITIONS:
        recording.send(message)
    for piece in pieces:
        recording.feed(log(piece))
    recording.finish()
    return recording


def test_each_pair_is_in_the_trace_once() -> None:
    found = resolved([reads(A, 1), holds(A, L), reads(L, 2), holds(A, L)], [holds(A, L), reads(A, 1), holds(A, L)])
    assert found.meta.holders == {"Log #1": ["Account #1.log"]}


def test_value_logged_after_the_last_event() -> None:
    assert resolved([reads(A, 1), reads(L, 2)], [holds(A, L)]).meta.holders == {"Log #1": ["Account #1.log"]}


def test_new_object_at_an_old_address() -> None:
    found = resolved([
        *(reads(A, 1), holds(A, L), reads(L, 2), free(L), holds(A, L), reads(L, 2)),
        *(free(A), reads(A, 1), holds(A, L)),
    ])  # fmt: skip
    assert found.meta.holders == {"Log #1": ["Account #1.log"], "Log #2": ["Account #1.log", "Account #2.log"]}


def test_unused_object_is_left_out_until_used() -> None:
    assert resolved([reads(A, 1), holds(A, L)]).meta.holders == {}
    assert resolved([reads(A, 1), holds(A, L)], [reads(L, 2)]).meta.holders == {"Log #1": ["Account #1.log"]}


def test_field_named_before_it_is_read() -> None:
    named = record(1, "field", A, 1, kind="field", site=1, type=1)
    found = resolved([named, holds(A, L), reads(A, 1), reads(L, 2)])
    assert found.meta.holders == {"Log #1": ["Account #1.log"]}
    assert found.events == 2


def test_invalid_records_are_ignored() -> None:
    found = resolved([
        *(holds(A, L), holds(0, L), holds(A, 0), record(1, "holds", L, A), record(1, "field", A, 1, site=1)),
        reads(A, 1),
    ])  # fmt: skip
    assert found.meta.holders == {}
    assert found.counters["strange"] == 4
    assert found.counters["unmatched"] == 1


def test_flag_known_needs_an_object_seen_before() -> None:
    known = holds(A, L, flag="known")
    assert resolved([reads(A, 1), known, reads(L, 2)]).meta.holders == {}
    assert resolved([reads(A, 1), reads(L, 2), known]).meta.holders == {"Log #1": ["Account #1.log"]}


def test_numbers_hold_when_others_are_sifted_out() -> None:
    """M and its field are left out, so that what comes after them gets other numbers."""
    found = resolved([
        *(reads(M, 2), reads(A, 1), free(M), holds(A, L), reads(L, 2), reads(L, 2, 2), reads(A, 1, 2)),
    ], keeps_unshared=False)  # fmt: skip
    assert list(found.symbols.locations) == ["Account.log (Account #1)", "Log.entries (Log #1)"]
    assert found.meta.holders == {"Log #1": ["Account #1.log"]}


def test_sifted_object_is_held_by_nobody() -> None:
    found = resolved([
        *(reads(A, 1), holds(A, M), reads(M, 2), free(M), holds(A, L), reads(L, 2), reads(L, 2, 2)),
    ], keeps_unshared=False)  # fmt: skip
    assert found.meta.holders == {"Log #1": ["Account #1.log"]}


def test_holder_is_not_sifted_out() -> None:
    """What one thread's account had may be everybody's log."""
    found = resolved([
        *(reads(A, 1), holds(A, L), reads(L, 2), free(A), reads(L, 2, 2)),
    ], keeps_unshared=False)  # fmt: skip
    assert found.meta.holders == {"Log #1": ["Account #1.log"]}
    assert found.events == 3
