"""The atomicity specification: which regions are meant to be atomic, and its file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atomsan.errors import InputError
from atomsan.source.spec import Specification, literal, read_spec, spec_from


@pytest.mark.parametrize(
    ("spec", "atomic", "not_atomic"),
    [
        ({}, "bank:main bank:Account.get", ""),
        ({"not_atomic": ["*:main"]}, "bank:Account.get main", "bank:main :main"),
        ({"atomic": ["bank:*"]}, "bank:main bank:Account.get", "shop:main"),
        ({"atomic": ["bank:*"], "not_atomic": ["*:main"]}, "bank:Account.get", "bank:main shop:get"),
        ({"not_atomic": ["bank:*"], "atomic": ["bank:Account.get"]}, "", "bank:Account.get shop:get"),
        ({"atomic": ["a?c", "[xy]z"]}, "abc xz yz", "ac zz ABC"),
        ({"atomic": "bank:get"}, "bank:get", "bank:get2"),
        ({"not-atomic": "bank:get"}, "bank:get2", "bank:get"),
        ({"default": "functions", "atomic": ["x"]}, "x y", ""),
    ],
)
def test_globs_decide_which_regions_are_atomic(spec: dict[str, Any], atomic: str, not_atomic: str) -> None:
    rules = spec_from(spec)
    for region in atomic.split():
        assert rules.is_atomic(region), region
    for region in not_atomic.split():
        assert not rules.is_atomic(region), region


@pytest.mark.parametrize(
    ("default", "origins"),
    [
        (None, "annotated function loop statement lock-block foreign"),
        ("functions", "annotated function loop statement lock-block foreign"),
        ("lock-blocks", "annotated lock-block foreign"),
        ("annotated", "annotated foreign"),
    ],
)
def test_default_decides_by_the_origin_of_a_region(default: str | None, origins: str) -> None:
    rules = Specification(default=default)
    every = ("annotated", "function", "loop", "statement", "lock-block", "foreign", "outer")
    assert {origin for origin in every if rules.is_atomic("x", origin)} == set(origins.split())
    assert Specification(("x",), default="annotated").is_atomic("x", "function")
    assert not Specification((), ("x",)).is_atomic("x", "annotated")


def test_outer_region_is_atomic_only_if_named() -> None:
    assert not Specification().is_atomic("bank:main", "outer")
    assert not Specification(atomic=("bank:get",)).is_atomic("bank:main", "outer")
    assert Specification(atomic=("bank:*",)).is_atomic("bank:main", "outer")
    assert not Specification(atomic=("bank:*",), not_atomic=("*:main",)).is_atomic("bank:main", "outer")


def test_region_without_a_name() -> None:
    assert Specification().is_atomic("")
    assert not Specification(not_atomic=("",)).is_atomic("")
    assert Specification(not_atomic=("",)).is_atomic("x")
    assert not Specification(atomic=("x",)).is_atomic("")


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"atomic = [", "not valid TOML"),
        (b"atomic = '\xff'", "not valid TOML"),
        (b"atomics = []", "'atomics' is not a key of a specification"),
        (b"atomic = 1", "'atomic' must be a list of texts"),
        (b"not_atomic = ['a', 1]", "'not_atomic' must be a list of texts"),
        (b"default = 'all'", "'default' must be one of functions, lock-blocks, annotated, not 'all'"),
        (b"default = []", "'default' must be one of"),
        (b"sets = 1", "'sets' must be a table"),
        (b"[sets]\nS = 1", "'sets.S' must be a list of texts"),
    ],
)
def test_bad_file_is_refused_with_its_name_and_the_key(tmp_path: Path, content: bytes, words: str) -> None:
    path = tmp_path / "spec.toml"
    path.write_bytes(content)
    with pytest.raises(InputError) as caught:
        read_spec(path)
    assert str(caught.value).startswith(f"{path}: ")
    assert words in str(caught.value)


def test_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"spec.toml: cannot be read: No such file or directory"):
        read_spec(tmp_path / "spec.toml")


names = st.text(st.characters(codec="utf-8"), max_size=8) | st.text(st.sampled_from('ab*?[]!"\\\n\x7f.:'), max_size=8)
globs = st.lists(names, max_size=3).map(lambda found: tuple(dict.fromkeys(found)))


@given(globs, globs, st.sampled_from([None, "annotated"]), st.dictionaries(names, globs, max_size=2), names)
def test_written_specification_is_read_back(
    atomic: tuple[str, ...],
    not_atomic: tuple[str, ...],
    default: str | None,
    sets: dict[str, tuple[str, ...]],
    comment: str,
) -> None:
    import tomllib

    spec = Specification(atomic, not_atomic, default, sets)
    text = spec.to_toml(dict.fromkeys(not_atomic, comment))
    assert spec_from(tomllib.loads(text)) == spec


@given(names, names)
def test_literal_glob_matches_only_its_region(region: str, other: str) -> None:
    spec = Specification(not_atomic=(literal(region),))
    assert not spec.is_atomic(region)
    assert spec.is_atomic(other) == (other != region)


def test_comments_are_written_above_their_globs() -> None:
    text = Specification(not_atomic=("a", "b")).to_toml({"b": "twice\x1b\nat x.py:3"})
    assert text == 'not_atomic = [\n    "a",\n    # twice\\x1b\n    # at x.py:3\n    "b",\n]\n'


def test_added_globs_are_joined() -> None:
    spec = Specification(("a",), ("b",), "annotated").adding(atomic=["c", "a"], not_atomic=["d"])
    assert spec == Specification(("a", "c"), ("b", "d"), "annotated")
