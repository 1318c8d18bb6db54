"""docs/glossary.md and the code agree: every name is explained there, and every name used there exists."""

from __future__ import annotations

import inspect
import re
import typing
from collections.abc import Iterator
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

import atomsan
from atomsan import types
from atomsan.checkers import results
from atomsan.checkers.registry import CHECKERS
from atomsan.checkers.results import Edge
from atomsan.config.table import OPTIONS
from atomsan.findings import finding, patterns, report
from atomsan.findings.repair import NewLock, Repair, Section
from atomsan.source import spec
from atomsan.trace import regions, symbols
from atomsan.trace.events import Op

PAGE = (Path(__file__).parent.parent / "docs" / "glossary.md").read_text()
NAMED = set(re.findall(r"`([^`\n]+)`", PAGE))

# Names that need no entry, each with the reason.
SELF_EXPLAINING = {
    "__version__": "a version",
    "schema": "the name and version of the JSON itself",
    "tool": "who wrote the JSON",
    "name": "of the tool",
    "version": "of the tool",
    "exit": "the exit code of a program",
    "signal": "the signal that a program died of",
    "file": "of a site",
    "line": "of a site",
    "column": "of a site",
    "text": "of a site",
    "seconds": "how long it took",
}

# In these objects of the JSON the keys are data: names of algorithms and counters, numbers of patterns.
TABLES = {"results", "counters", "seconds", "patterns"}


def full_report() -> dict[str, Any]:
    """The JSON of two reports with everything in it that a report can have."""
    checked = atomsan.sets(atomsan.parse("T1:begin T1:r(x)@a.py:1 T2:w(x)@a.py:2 T1:w(x)@a.py:3 T1:end"))
    facts = {name: one._replace(is_capped=True) for name, one in (checked.sets or {}).items()}
    full = replace(
        checked,
        notes=[replace(checked.findings[0], why="a reason", repair=full_repair())],
        findings=[],
        suspects=checked.findings,
        program=report.ProgramFacts(0, None),
        reason="a reason",
        repairs=["a repair"],
        warnings=["a warning"],
        results={"one": {}, "two": {}},
        sets=facts,
        prediction=report.PredictionFacts(None, None, frozenset({"conflict", "view"}), 1, 1),
    )
    return report.reports_to_json([full, checked])


def full_repair() -> Repair:
    section = Section("a.py", "f", 1, 3, "lock")
    return Repair(lock="lock", unit=section, new=NewLock("threading.Lock()", "lock", None))


def keys_of(value: Any) -> Iterator[str]:
    if isinstance(value, list):
        for one in value:
            yield from keys_of(one)
    elif isinstance(value, dict):
        yield from value
        for key, inner in value.items():
            if key == "sets":
                yield from keys_of(list(inner.values()))
            elif key not in TABLES:
                yield from keys_of(inner)


def contracts() -> set[str]:
    """The classes that types.py states."""
    return {
        name for name, value in vars(types).items() if inspect.isclass(value) and value.__module__ == types.__name__
    }


KEYS = set(keys_of(full_report()))
ORIGINS = {*regions.CHOSEN_ORIGINS, *spec.ALWAYS, *spec.NEVER, *symbols.DEFAULTS.values()} - {"lock"} | {
    regions.CALLBACK,
    regions.RESUMED,
}
PATTERN_NAMES = {row.name for row in (*patterns.PATTERNS, patterns.CYCLE)}
WORDS = {op.word for op in Op}
VALUES = {
    *typing.get_args(results.Verdict),
    *typing.get_args(results.Status),
    *typing.get_args(finding.Kind),
    *typing.get_args(finding.Level),
    *map(str, Edge),
}

EXPLAINED = {
    "public name": set(atomsan.__all__),
    "contract": contracts(),
    "operation": WORDS,
    "key of the JSON": KEYS,
    "origin of a region": ORIGINS,
    "pattern": PATTERN_NAMES,
}


@pytest.mark.parametrize("kind", EXPLAINED)
def test_every_name_is_explained(kind: str) -> None:
    names = EXPLAINED[kind]
    assert names
    assert sorted(names - NAMED - set(SELF_EXPLAINING)) == []


def test_self_explaining_names_exist_and_are_not_explained() -> None:
    assert SELF_EXPLAINING.keys() <= set().union(*EXPLAINED.values())
    assert not SELF_EXPLAINING.keys() & NAMED, "has an entry: take it off the list"


def exists(name: str) -> bool:
    """Whether a dotted name below `atomsan` leads to something."""
    parts = name.removeprefix("atomsan.").split(".")
    for split in range(len(parts), -1, -1):
        try:
            found: Any = import_module(".".join(("atomsan", *parts[:split])))
        except ModuleNotFoundError:
            continue
        for attribute in parts[split:]:
            if not hasattr(found, attribute):
                return False
            found = getattr(found, attribute)
        return True
    return False


def test_every_name_in_the_glossary_exists() -> None:
    known = {
        *set().union(*EXPLAINED.values()),
        *VALUES,
        *symbols.SYMBOL_KINDS,
        *CHECKERS,
        *(option.flag for option in OPTIONS),
        *("auto", "atomsan", "tests/test_glossary.py"),
    }
    assert [name for name in sorted(NAMED - known) if not exists(name)] == []


def test_every_entry_is_unique() -> None:
    words = re.findall(r"^\*\*([^*]+)\*\*", PAGE, re.M)
    assert len(words) == len(set(words)) > 40
