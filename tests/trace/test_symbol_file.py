"""Symbols that leave memory: the table says the same of them, and so does what is written of it."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from atomsan.trace.symbol_file import MOST_READ, SymbolFile
from atomsan.trace.symbols import SymbolPart, SymbolRows, SymbolTable
from atomsan.trace.temporary_symbols import TemporarySymbols


def filled(count: int, table: SymbolTable | None = None) -> SymbolTable:
    table = SymbolTable("locations") if table is None else table
    for i in range(len(table), len(table) + count):
        number = table.names.add(f"x{i}é")
        table.set(number, "class", f"C{i % 3}")
        if i % 2:
            table.set(number, "owner", f"o{i}")
    return table


def content(table: SymbolTable) -> list[tuple[object, ...]]:
    return [(table[i], *(table.get(i, field) for field in ("object", "class", "owner"))) for i in range(len(table))]


def spilled(rounds: int, each: int, latest: int, file: SymbolRows | None = None) -> SymbolTable:
    table = SymbolTable("locations")
    table.keep_in(file or TemporarySymbols())
    for _ in range(rounds):
        filled(each, table)
        table.leave_memory(latest)
    return table


@pytest.mark.parametrize("is_stored", [True, False])
def test_rows_that_left_memory_are_what_they_were(tmp_path: Path, is_stored: bool) -> None:
    file = SymbolFile(tmp_path / "variables.arrows", "locations") if is_stored else None
    table, whole = spilled(MOST_READ + 5, 20, 10, file), filled((MOST_READ + 5) * 20)
    assert table.names.dropped > 200
    assert all(len(column) <= 30 for column in table.columns.values())
    assert content(table) == content(whole)
    assert list(table) == list(whole)
    assert table.values("class", 5, 250) == whole.values("class", 5, 250)
    rng = random.Random(1)
    for _ in range(50):
        start, stop = sorted(rng.sample(range(len(table) + 1), 2))
        padded = [None] * (stop - start)
        for one in (table, whole):
            got = one.values("owner", start, stop)
            assert [*got, *padded[len(got) :]] == [whole.get(i, "owner") for i in range(start, stop)]


def test_part_says_the_same_under_numbers_of_its_own() -> None:
    table, whole = spilled(4, 20, 10), filled(80)
    numbers = [0, 1, 19, 20, 45, 68, 69, 70, 79]
    part = SymbolPart(table, numbers)
    assert content(part) == [content(whole)[i] for i in numbers]
    assert list(part) == [whole[i] for i in numbers]
    assert list(part.whole_column("owner")) == [whole.get(i, "owner") for i in numbers]
    assert part.has("owner")
    assert not part.has("object")


@pytest.mark.parametrize("latest", [0, 1, 10])
def test_fields_of_modules_are_known_by_name(latest: int) -> None:
    table = SymbolTable("locations")
    table.keep_in(TemporarySymbols())
    for name, of in (("bank.total", "bank"), ("bank.log[0]", "bank.log"), ("A.x (A #1)", "A #1"), ("plain", None)):
        table.set(table.names.add(name), "object", of)
    table.leave_memory(latest)
    assert table.has_global("bank.total")
    assert SymbolPart(table, [2]).has_global("bank.total")
    assert not table.has_global("bank.other")
    assert table.find("bank.total") == (0 if latest == 10 else None)


def test_few_rows_stay_in_memory() -> None:
    assert spilled(1, 15, 10).names.dropped == 0
    assert spilled(1, 15, 0).names.dropped == 15


def test_name_that_is_not_kept_is_refused_by_the_table_of_names() -> None:
    names = spilled(1, 15, 0).names
    with pytest.raises(IndexError, match="the name of number 3 is not kept"):
        names[3]
    with pytest.raises(IndexError, match="there are no names before 3 to drop"):
        names.drop(3)
    with pytest.raises(IndexError, match="there are no names before 16 to drop"):
        names.drop(16)
    assert len(names) == 15


def test_numbered_names_stay() -> None:
    table = SymbolTable("sites")
    table.names.number_from(7, 3)
    with pytest.raises(IndexError):
        table.names.drop(1)


def test_file_of_several_writes(tmp_path: Path) -> None:
    table = filled(5)
    file = SymbolFile(tmp_path / "variables.arrows", "locations")
    file.write(table)
    file.write(table)
    file.write(filled(4, table))
    assert file.values(range(9), "name") == list(table)
    assert [file.value(i, "owner") for i in (1, 2, 8)] == ["o1", None, None]
    file.finish()
    file.close()
