"""Names of locations, sites and regions as people know them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from recorder.raw import NAMES, M, Resolved, module, record

TYPES = [["type", 1, "bank", "Account"], ["type", 2, "builtins", "list"], ["type", 3, "builtins", "dict"]]
KEYS = [["key", 3, 900, "'user'"], ["key", 4, 5, "5"]]
SOURCE = "class Account:\n    def add(self):\n        self.items.append(1)\ncache['user'] = x\n"
PROBES = [
    ("load_attr", 3, 8, 1, "items", "self"),  # 1
    ("method", 3, 8, 1, "append", "self.items", -1, 0),  # 2, fed by 1
    ("load_name", 4, 0, 0, "x", ""),  # 3
    ("item", 4, 0, 0, "", "x", -1, 2),  # 4, fed by 3
    ("item", 4, 0, 0, "", "cache"),  # 5
    ("item", 4, 0, 0, "", "f(x)"),  # 6
    ("store_cell", 5, 0, 2, "n", "n"),  # 7, in f
    ("load_cell", 6, 0, 3, "n", "n"),  # 8, in g inside f
]
FUNCTIONS = ("<module>", "Account.add", "f", "f.<locals>.g")
DEFINITIONS = [module(PROBES, functions=FUNCTIONS, file="bank.py", source=SOURCE), *NAMES, *TYPES, *KEYS]


def locations(*records: tuple[int, ...], definitions: list[list[object]] = DEFINITIONS) -> list[tuple[str | None, ...]]:
    """(name, object, class, field, owner) of each location."""
    log = Resolved(definitions).feed(*records)
    log.trace()
    table = log.symbols.locations
    return [
        (table[i], *(table.get(i, field) for field in ("object", "class", "field", "owner"))) for i in range(len(table))
    ]


def read(
    object: int, key: int = 0, kind: str = "field", *, thread: int = 1, type: int = 0, site: int = 0
) -> tuple[int, ...]:
    return record(thread, "read", object, key, kind, type=type, site=site)


def test_attributes() -> None:
    assert locations(read(64, 1, type=1), read(128, 2, type=1)) == [
        ("Account.x (Account #1)", "Account #1", "Account", "x", None),
        ("Account.y (Account #2)", "Account #2", "Account", "y", None),
    ]


def test_class_attributes() -> None:
    attribute = record(1, "read", 64, 1, type=1, site=1, flag="class")
    assert locations(attribute, read(128, 900, "hash", type=3, site=2), read(192, 1, type=1)) == [
        ("Account.x", "Account", "Account", "x", None),
        ("Account.x['user']", "Account.x", "Account.x", "[...]", "Account"),
        ("Account.x (Account #1)", "Account #1", "Account", "x", None),
    ]


def test_an_attribute_of_a_container() -> None:
    """A subclass of list that has attributes, first seen as a list."""
    assert [row[0] for row in locations(
        read(64, 1, type=1, site=1), read(128, 0, "index", type=2, site=2), read(128, 2, type=2),
    )] == ["Account.x (Account #1)", "Account.x[0] (Account #1)", "Account.x.y (Account #1)"]  # fmt: skip


def test_globals() -> None:
    assert locations(read(M, 1)) == [("m.x", "m", "m", "x", None)]


@pytest.mark.parametrize("site", [7, 8])
def test_closure_variables(site: int) -> None:
    assert locations(read(64, 1, site=site)) == [("f.<locals>.x (f #1)", "f #1", "f", "x", None)]


def test_elements_of_an_attribute() -> None:
    assert locations(
        read(64, 1, type=1, site=1), read(128, 0, "index", type=2, site=2), read(128, 0, "structure", type=2, site=2)
    )[1:] == [
        ("Account.x[0] (Account #1)", "Account.x (Account #1)", "Account.x", "[...]", "Account #1"),
        ("Account.x (structure) (Account #1)", "Account.x (Account #1)", "Account.x", "<structure>", "Account #1"),
    ]


def test_elements_of_a_global() -> None:
    found = locations(
        *(read(M, 1, site=3), read(128, 900, "hash", type=3, site=4), read(128, 5, "number", type=3, site=4)),
        read(128, 0, "whole", type=3, site=4),
    )
    assert found[1:] == [
        ("x['user']", "x", "x", "[...]", None),
        ("x[5]", "x", "x", "[...]", None),
        ("x[<any key>]", "x", "x", "<any key>", None),
    ]


def test_another_container_in_the_same_location() -> None:
    first, second = (read(at, 900, "hash", type=3, site=4) for at in (128, 192))
    assert [row[0] for row in locations(read(M, 1, site=3), first, read(M, 1, site=3), second)] == [
        "m.x",
        "x['user']",
        "x #2['user']",
    ]
    first, second = (read(at, 0, "index", type=2, site=2) for at in (128, 192))
    attribute = read(64, 1, type=1, site=1)
    assert [row[0] for row in locations(attribute, first, attribute, second)][1:] == [
        "Account.x[0] (Account #1)",
        "Account.x #2[0] (Account #1)",
    ]


def test_another_thread_does_not_disturb_the_way_to_a_container() -> None:
    mine, other = read(64, 1, type=1, site=1), read(128, 1, type=1, site=1, thread=2)
    found = locations(mine, other, read(192, 0, "index", type=2, site=2))
    assert found[2][0] == "Account.x[0] (Account #1)"


def test_container_reached_by_an_unseen_read() -> None:
    assert [row[:3] for row in locations(
        read(64, 900, "hash", type=3, site=5), read(128, 900, "hash", type=3, site=6), read(192, 0, "index")
    )] == [
        ("cache['user']", "cache", "cache"),
        ("dict #1['user']", "dict #1", "dict"),
        ("object #1[0]", "object #1", "object"),
    ]  # fmt: skip


def test_redacted_keys_are_still_told_apart() -> None:
    keys = [["key", 3, number, "<key>"] for number in (1, 2, 3)]
    records = [read(64, number, "hash", type=3, site=5) for number in (1, 2, 3)]
    assert [row[0] for row in locations(*records, definitions=[*DEFINITIONS, *keys])] == [
        "cache[<key>]",
        "cache[<key>] #2",
        "cache[<key>] #3",
    ]


def test_strange_names_are_kept_printable_and_apart() -> None:
    names = [["name", 3, "a\0b", 3], ["name", 4, "\ud800", 4], ["name", 5, "x (Account #1)", 5]]
    found = locations(*(read(64, number, type=1) for number in (3, 4, 5)), definitions=[*DEFINITIONS, *names])
    assert [row[0] for row in found] == [
        "Account.a\\x00b (Account #1)",
        "Account.\\ud800 (Account #1)",
        "Account.x (Account #1) (Account #1)",
    ]


def test_sites() -> None:
    log = Resolved(DEFINITIONS).feed(
        *(read(64, 1, type=1, site=1), read(128, 0, "structure", type=2, site=2), read(128, 0, "structure", site=2)),
        read(128, 0, "structure", site=0),
    )
    log.trace()
    sites = log.symbols.sites
    text = "self.items.append(1)"
    assert sites.site(0) == ("bank.py:3:8", "bank.py", 3, 8, "Account.add", text, None, 0, None, text)
    assert sites.site(1)[0] == "bank.py:3:8 (append)"
    assert sites.site(1).operation == "append"
    assert [event.site for event in log.trace()] == ["bank.py:3:8", *["bank.py:3:8 (append)"] * 2, None]


def test_probes_at_one_place_are_one_site() -> None:
    again = module(PROBES, functions=FUNCTIONS, file="bank.py", source=SOURCE, first=101)
    log = Resolved([*DEFINITIONS, again]).feed(read(64, 1, site=1), read(64, 1, site=101), read(64, 1, site=104))
    log.trace()
    assert list(log.symbols.sites) == ["bank.py:3:8", "bank.py:4:0"]


def test_files_are_shown_relative_to_the_program_s_directory(tmp_path: Path) -> None:
    inside, outside = str(tmp_path / "pkg" / "a.py"), os.path.join(os.sep, "elsewhere", "b.py")
    definitions = [module(PROBES, functions=FUNCTIONS, file=inside)]
    definitions += [module(PROBES, functions=FUNCTIONS, file=outside, first=101)]
    log = Resolved(definitions, directory=str(tmp_path)).feed(read(64, 1, site=1), read(64, 1, site=101))
    log.trace()
    assert [log.symbols.sites.site(i).file for i in (0, 1)] == [os.path.join("pkg", "a.py"), outside]


def test_flow() -> None:
    region = ("m:f", "function", 1, 1, False, False, ["a", "b.c"])
    log = Resolved([module([("begin", 1, 0, 1, "", "", 0)], regions=[region])]).feed(record(1, "begin", site=1))
    log.trace()
    assert log.symbols.regions.get(0, "flow") == "a\nb.c"


def test_facts() -> None:
    log = Resolved([["set", {"program": "bank.py", "command_line": ["bank.py", "-v"], "more": 1}]]).feed()
    assert (log.meta.program, log.meta.command_line) == ("bank.py", ["bank.py", "-v"])


def test_locks_are_called_what_the_source_calls_them() -> None:
    probes = [
        ("load_attr", 3, 8, 1, "x", "self"),  # 1
        ("with", 3, 8, 1, "", "self.x", -1, 0),  # 2, fed by 1
        ("with", 4, 0, 0, "", "guard"),  # 3
        ("with", 4, 0, 0, "", "guards[0]"),  # 4
        ("load_attr", 5, 0, 1, "y", "self"),  # 5
        ("with", 6, 0, 1, "", "self.y"),  # 6, and nobody saw how it was reached
    ]
    log = Resolved([module(probes, functions=FUNCTIONS, file="bank.py", source=SOURCE), *NAMES, *TYPES])
    for account, lock in ((64, 1064), (128, 1128)):
        log.feed(read(account, 1, type=1, site=1))
        log.feed(record(1, "acquire", lock, 1, site=2), record(1, "release", lock, 1, site=2))
    for lock, site in ((2000, 3), (2064, 4), (2128, 5), (2192, 6)):
        log.feed(record(1, "acquire", lock, 1, site=site), record(1, "release", lock, 1, site=site))
    log.trace()
    assert list(log.symbols.locks.names) == [
        *("Account.x", "Account.x (Account #2)", "guard", "lock #1", "lock #2", "Account.y"),
    ]


def test_queues() -> None:
    put = record(1, "write", 64, 0, "structure", site=2, flag="queue")
    assert locations(put) == [("queue #1 (items)", "queue #1", "queue", "<queue>", None)]


def test_states() -> None:
    asked = [record(1, "read", 64 * (of + 1), of, "structure", site=2, flag="state") for of in (0, 1, 5, 7)]
    assert [(name, field) for name, _, _, field, _ in locations(*asked)] == [
        *(("event #1 (state)", "<state>"), ("future #1 (state)", "<state>")),
        *(("thread #1 (state)", "<state>"), ("lock #1 (state)", "<state>")),
    ]
