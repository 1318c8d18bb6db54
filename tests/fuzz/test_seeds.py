"""The fuzzed properties hold for the seeds and for every input that fuzzing found before."""

from __future__ import annotations

from pathlib import Path

import pytest

from atomsan.trace.formats.roadrunner import location_parts
from atomsan.trace.symbols import Site, Symbols
from fuzz.inputs import INPUTS, PLAIN, Way, seeds
from fuzz.patches import SEPARATOR
from fuzz.properties import check_input, read

FORMATS = [*INPUTS, "config"]


@pytest.mark.parametrize("format", FORMATS)
def test_properties_hold_for_the_seeds(format: str, tmp_path: Path) -> None:
    for data in seeds(format):
        check_input(format, data, tmp_path)


@pytest.mark.parametrize("format", INPUTS)
def test_first_seed_is_a_valid_trace(format: str, tmp_path: Path) -> None:
    outcome = read(format, INPUTS[format](next(seeds(format))[1:], tmp_path), Way.chosen(PLAIN))
    assert outcome.error is None
    assert len(outcome.events()) > 3


FOUND = [
    # the nameless region was not recognized if it first occurred in a later batch than the first region
    ("csv", b"\0begin(m),,\nr(x),,\nexit,\nrel(l),,\n"),
    # names were not escaped or shortened in messages: a form feed, a newline, a thousand letters
    ("std", b"\x3eT0\x0c|rel(l)|1\n"),
    ("std", b"\x3eT0|rel(a%0Ab)|1\n"),
    ("std", b"\x3eT0|rel(" + b"l" * 3000 + b")|1\n"),
    # a thread's name that starts with a byte order mark lost it when it came first
    ("std", b"\x3e\xef\xbb\xbf\xef\xbb\xbfT|r(x)|1\n"),
    # a NUL in a name of a bundle; a null name of an archive whose bytes are not UTF-8
    ("bundle", b"\x3e\x01\0\0\0\0" + SEPARATOR + b"T\0" + SEPARATOR + b"x"),
    ("parquet", b"\x3e\x05\1\0\0\xff" + SEPARATOR + b"a\n\xff\nb" + SEPARATOR + b"x"),
    # the name of an unknown format was not shortened in the message
    ("bundle", b"\x3e\x01" + 8 * SEPARATOR + b'{"format": "' + b"x" * 3000 + b'"}'),
]


@pytest.mark.parametrize(("format", "data"), FOUND)
def test_properties_hold_for_inputs_found_by_fuzzing(format: str, data: bytes, tmp_path: Path) -> None:
    check_input(format, data, tmp_path)


def test_very_long_names_are_parsed_quickly() -> None:
    """These took minutes and hours: the time grew with the square of the length."""
    assert location_parts("a.b." + "_L" * 500_000) == {}
    sites = Symbols().sites
    name = "a:1" * 300_000
    assert sites.site(sites.intern(name)) == Site(name, name.removesuffix(":1"), 1)
    name = "a" * 1_000_000
    assert sites.site(sites.intern(name)) == Site(name)
