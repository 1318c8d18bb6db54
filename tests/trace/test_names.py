"""Name tables and interning: any names, and the limit on their number."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from atomsan.errors import InputError
from atomsan.trace._names import Interner, NameTable

names = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=30)


@given(st.lists(names, unique=True, max_size=300))
def test_each_name_keeps_its_number(chosen: list[str]) -> None:
    table = NameTable()
    assert [table.intern(name) for name in chosen] == list(range(len(chosen)))
    assert [table.find(name) for name in chosen] == list(range(len(chosen)))
    assert list(table) == chosen


@given(st.lists(names, unique=True, max_size=50), names)
def test_unknown_name_is_not_found(chosen: list[str], other: str) -> None:
    table = NameTable()
    for name in chosen:
        table.add(name)
    assert table.find(other) == (chosen.index(other) if other in chosen else None)


def test_names_around_the_slot_size_of_twelve_bytes() -> None:
    table = NameTable()
    chosen = ["x" * size for size in range(40)] + ["x" * size + "y" for size in range(40)]
    assert [table.intern(name) for name in chosen] == list(range(80))
    assert [table.intern(name) for name in chosen] == list(range(80))


def test_names_survive_growing_the_table() -> None:
    interner = Interner(NameTable())
    for i in range(100_000):
        assert interner.spelled(b"V%d" % i) == i
    assert all(interner.spelled(b"V%d" % i) == i for i in range(0, 100_000, 7))
    assert interner.names[99_999] == "V99999"


@pytest.mark.parametrize("limit", [0, 1, 3])
def test_name_beyond_the_limit_is_refused(limit: int) -> None:
    table = NameTable(limit)
    for i in range(limit):
        table.intern(f"n{i}")
    with pytest.raises(InputError, match=f"more than {limit} different names"):
        table.intern("one more")
    assert len(table) == limit


def test_limit_includes_numbered_sites() -> None:
    interner = Interner(NameTable(3))
    assert [interner.spelled_site(b"%d" % i) for i in (5, 6, 7)] == [0, 1, 2]
    with pytest.raises(InputError, match="more than 3"):
        interner.spelled_site(b"8")


def test_escaped_and_plain_spelling_are_one_symbol() -> None:
    interner = Interner(NameTable())
    assert interner.spelled(b"A") == interner.spelled(b"%41") == 0
    assert interner.spelled(b"%42") == interner.spelled(b"B") == interner.spelled(b"%42") == 1
    assert interner.spelled(b"%2541") == 2
    assert list(interner.names) == ["A", "B", "%41"]


def test_percent_sign_without_digits_is_no_escape() -> None:
    interner = Interner(NameTable())
    assert interner.spelled(b"100%") == interner.spelled(b"100%25") == 0
    assert interner.names[0] == "100%"


@pytest.mark.parametrize("spelling", [b"\xff", b"a\xc3", b"%FF", b"\xed\xa0\x80"])
def test_name_that_is_not_utf8_is_refused(spelling: bytes) -> None:
    with pytest.raises(InputError, match="not valid UTF-8"):
        Interner(NameTable()).spelled(spelling)


def test_escaped_nul_is_refused() -> None:
    interner = Interner(NameTable())
    interner.spelled(b"a")
    with pytest.raises(InputError, match="NUL"):
        interner.spelled(b"a%00")


def test_consecutive_numbers_take_no_memory() -> None:
    interner = Interner(NameTable())
    before = interner.names.memory()
    assert [interner.spelled_site(b"%d" % i) for i in range(7, 200_000)] == list(range(200_000 - 7))
    assert interner.names.memory() == before
    assert interner.names[100] == "107"
    assert interner.names.find("107") == 100
    assert interner.names.find("6") is None
    assert interner.names.find("0107") is None


@given(st.lists(st.one_of(st.integers(0, 20).map(str), st.sampled_from(["a", "007", "x.py:3", "99999999999"]))))
def test_sites_after_consecutive_numbers_are_exact(spellings: list[str]) -> None:
    interner = Interner(NameTable())
    numbers = [interner.spelled_site(spelling.encode()) for spelling in spellings]
    assert [interner.names[number] for number in numbers] == spellings
    assert len(interner.names) == len(set(spellings))


def test_consecutive_numbers_stay_compact_when_other_names_follow() -> None:
    interner = Interner(NameTable())
    for i in range(70_000):
        interner.spelled_site(b"%d" % i)
    assert interner.spelled_site(b"other") == 70_000
    assert interner.spelled_site(b"70000") == 70_001
    assert interner.spelled_site(b"69999") == 69_999
    assert interner.spelled_site(b"70000") == 70_001
    assert interner.names.numbered_count == 70_000


@given(st.lists(names, unique=True, max_size=60), st.integers(0, 60))
def test_stored_names_can_be_loaded_into_another_table(chosen: list[str], cut: int) -> None:
    table = NameTable()
    for name in chosen:
        table.add(name)
    cut = min(cut, len(chosen))
    copy = NameTable()
    copy.extend(*table.stored(0, cut))
    copy.extend(*table.stored(cut, len(chosen)))
    assert list(copy) == chosen
    assert all(copy.find(name) == i for i, name in enumerate(chosen))


def test_damaged_offsets_are_refused() -> None:
    import numpy as np

    with pytest.raises(InputError, match="damaged"):
        NameTable().extend(np.array([0, 9], np.uint64), b"abc")
    with pytest.raises(InputError, match="damaged"):
        NameTable().extend(np.array([2, 1], np.uint64), b"abc")
