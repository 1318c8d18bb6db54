"""Definitions come in pieces, and what is damaged is passed over."""

from __future__ import annotations

import json
import os
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atomsan.recorder.log._resolver import Resolver
from atomsan.recorder.log.definitions import DefinitionFile, DefinitionList, Definitions
from atomsan.recorder.log.ring import shared_file
from atomsan.recorder.python.language import PYTHON
from atomsan.trace.events import Op
from recorder.raw import Resolved, module, record

MESSAGES: list[list[Any]] = [["name", 1, "é", 5], ["type", 1, "m", "A"], ["set", {"program": "x"}]]


@given(st.lists(st.integers(0, 200), max_size=6))
def test_lines_come_in_any_pieces(cuts: list[int]) -> None:
    text = b"".join(json.dumps(message, ensure_ascii=False).encode() + b"\n" for message in MESSAGES)
    descriptor = shared_file("test")
    try:
        source, found, at = DefinitionFile(descriptor), [], 0
        for cut in [*sorted(cuts), len(text)]:
            os.write(descriptor, text[at:cut])
            at = max(at, cut)
            found += source.read()
        assert found == MESSAGES
        assert source.damaged == 0
    finally:
        os.close(descriptor)


def test_damaged_lines_are_counted() -> None:
    descriptor = shared_file("test")
    try:
        os.write(descriptor, b'["name", 1,\n{}\n\n[]\n\xff\n["set", {}]\n["half')
        source = DefinitionFile(descriptor)
        assert source.read() == [["set", {}]]
        assert source.damaged == 5
    finally:
        os.close(descriptor)


def test_definitions_in_memory() -> None:
    source = DefinitionList()
    source.send(MESSAGES[0])
    assert source.read() == MESSAGES[:1]
    source.send(MESSAGES[1])
    assert source.read() == MESSAGES[1:2]
    assert source.read() == []


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.text(max_size=5) | st.just("loop"),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=10,
)
words = st.sampled_from(
    ["module", "call", "type", "name", "key", "thread", "region", "primitive", "module_name", "set", "failure", "other"]
)


@given(st.lists(st.tuples(words, st.lists(json_values, max_size=4)), max_size=8))
def test_any_message_is_taken_or_counted(messages: list[tuple[str, list[Any]]]) -> None:
    definitions = Definitions(Resolver(), PYTHON)
    for word, arguments in messages:
        definitions.add([word, *arguments])


@pytest.mark.parametrize("damage", [{"plan": None}, {"first_site": "x"}, {"source": None}, {"plan": {"probes": [[1]]}}])
def test_a_damaged_module_is_counted(damage: dict[str, Any]) -> None:
    definitions = Definitions(Resolver(), PYTHON)
    definitions.add(["module", {**module([("load_attr", 1, 0, 1)])[1], **damage}])
    assert definitions.wrong == (damage.get("source", "") is not None)


def test_failure_to_rewrite_a_file() -> None:
    definitions = Definitions(Resolver(), PYTHON)
    definitions.add(["failure", "a.py", "RecursionError"])
    assert definitions.failures == {"a.py": "RecursionError"}


def test_selection_of_modules() -> None:
    definitions = Definitions(Resolver(), PYTHON, "/project")
    definitions.add(["selection", "app", "/project/app.py", True, "the program's own code"])
    definitions.add(["selection", "sys", None, False, "it has no source file"])
    definitions.add(["selection", "half"])
    assert definitions.selections == {
        "app": ("app.py", True, "the program's own code"),
        "sys": (None, False, "it has no source file"),
    }
    assert definitions.wrong == 1


def test_functions_of_a_module_loaded_again_have_their_numbers() -> None:
    definitions = Definitions(Resolver(), PYTHON)
    definitions.add(module([("load_attr", 1, 0, 1, "x", "", -1, -1, 4)]))
    definitions.add(module([("load_attr", 1, 0, 2)], first=2))
    assert [function.name for function in definitions.functions] == ["m:<module>", "m:f", "m:g"]
    assert [(site.owner, site.node) for site in definitions.sites.values()] == [(1, 4), (2, None)]


def test_sites_of_calls() -> None:
    source = "".join(f"line {number}\n" for number in range(1, 10))
    definition = module([("begin", 1)], source=source)
    plan = definition[1]["plan"]
    plan["functions"] = [
        ["<module>", 1, -1, '{"calls": {"1:0:1:4": 3}}'],
        ["A.p", 2, 0, '{"calls": {"3:4:3:9": 1}}'],
        ["A.p", 4, 0, '{"calls": {"5:4:5:9": 2}}'],
        ["A.p.<locals>.<lambda>", 5, 2, ""],  # is in the summary of the function around it
    ]
    definitions = Definitions(Resolver(), PYTHON)
    definitions.add(definition)
    definitions.add(module([("begin", 1)], first=2, file="other.py"))
    calls = [
        ([1, 1, 0, 4], "<module>"),
        ([1, 1, 0, 4], "<listcomp>"),
        ([3, 3, 4, 9], "A.p"),
        ([5, 5, 4, 9], "A.p"),
        ([5, 5, 4, 9], "A.p.<locals>.<lambda>"),
        ([5, 5, 4, 9], "A.p.<locals>.<genexpr>.<locals>.<setcomp>"),
        ([6, 6, 4, 9], "A.p"),  # the summary does not know it
        ([7, 7, 0, 1], "made_otherwise"),
    ]
    for number, (position, code) in enumerate(calls, 10):
        definitions.add(["call", number, 1, position, code])
    found = [definitions.sites[number] for number in range(10, 18)]
    assert [(site.function, site.owner, site.node) for site in found] == [
        ("<module>", 0, 3),
        ("<module>", 0, 3),
        ("A.p", 1, 1),
        ("A.p", 2, 2),
        ("A.p.<locals>.<lambda>", 2, 2),
        ("A.p", 2, 2),
        ("A.p", 2, None),
        ("made_otherwise", None, None),
    ]
    assert (found[2].file, found[2].line, found[2].column, found[2].text) == ("m.py", 3, 4, "line 3")
    definitions.add(["call", 20, 2, [1, 1, 0, 4], "f"])
    assert (definitions.sites[20].file, definitions.wrong) == ("other.py", 0)


def test_damaged_calls_are_counted() -> None:
    definitions = Definitions(Resolver(), PYTHON)
    definitions.add(["call", 10, 1, [1, 1, 0, 4], "f"])  # of no module
    definitions.add(module([("begin", 1)]))
    for message in (
        ["call", 10],
        ["call", 10, 1, [1, 1, 0], "f"],
        ["call", 10, 1, [1, 1, None, 4], "f"],
        ["call", -1, 1, [1, 1, 0, 4], "f"],
        ["call", 10, "a", [1, 1, 0, 4], "f"],
    ):
        definitions.add(message)
    assert (definitions.wrong, definitions.sites.keys()) == (6, {1})


@pytest.mark.parametrize("order", [(10, 11), (11, 10)])
def test_calls_that_look_alike_are_one_in_whichever_order_they_come(order: tuple[int, int]) -> None:
    """Two threads that come to a call at the same time may both define it, in either order."""
    calls = [["call", number, 1, [1, 1, 0, 4], "<module>"] for number in order]
    resolved = Resolved([module([("begin", 1, 0, 1, "", "", 0)], regions=[("m:f",)]), *calls])
    for call in (10, 11):
        resolved.feed(record(1, "begin", site=1, key=call), record(1, "end", site=1))
    begins = [event.site for event in resolved.trace().events() if event.op is Op.BEGIN]
    assert len(begins) == 2
    assert len(set(begins)) == 1
