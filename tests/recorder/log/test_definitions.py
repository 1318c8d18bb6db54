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
from recorder.raw import module

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
    ["module", "type", "name", "key", "thread", "region", "primitive", "module_name", "set", "failure", "other"]
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
