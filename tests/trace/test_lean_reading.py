"""Names of a bundle's locations that are read when somebody asks: they are looked at as those that are read at once."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

from atomsan import InputError
from atomsan.trace import bundle as bundles
from atomsan.trace.arrow import symbol_record_batches, table_schema
from atomsan.trace.bundle import BundleSource, BundleWriter
from atomsan.trace.memory import TooLargeError, memory_limited
from atomsan.trace.meta import TraceMeta
from atomsan.trace.symbols import Symbols, SymbolTable

TABLE = "variables.arrows"
BATCHES, EACH = 20, 10


@pytest.fixture(autouse=True)
def few_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bundles, "MOST_SYMBOLS", EACH // 2)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return written(tmp_path / "t.atomtrace")


def written(path: Path, each: int = EACH) -> Path:
    path.mkdir()
    symbols = Symbols()
    writer = BundleWriter(path, symbols, TraceMeta("test", "recording", complete=True))
    for batch in range(BATCHES):
        for i in range(each):
            number = symbols.locations.names.add(f"x{batch * each + i}")
            symbols.locations.set(number, "class", "A")
        writer.flush()
    writer.finish()
    return path


def locations(path: Path) -> SymbolTable:
    return BundleSource(path, lean=True).symbols.locations


def test_names_are_those_that_are_read_at_once(path: Path) -> None:
    table = locations(path)
    assert table.leaves_memory
    assert list(table) == list(BundleSource(path).symbols.locations) == [f"x{i}" for i in range(BATCHES * EACH)]
    assert list(table.whole_column("class")) == ["A"] * (BATCHES * EACH)


def cut(file: Path) -> None:
    os.truncate(file, file.stat().st_size // 2)


def spoil(file: Path) -> None:
    content = bytearray(file.read_bytes())
    content[len(content) // 2 :] = b"\x7f" * (len(content) - len(content) // 2)
    file.write_bytes(content)


def link(file: Path) -> None:
    file.rename(file.parent.parent / "elsewhere")
    file.symlink_to(file.parent.parent / "elsewhere")


def pipe(file: Path) -> None:
    file.unlink()
    os.mkfifo(file)


def of_fewer_rows(file: Path) -> None:
    table = SymbolTable("locations")
    table.names.add("y")
    with pa.OSFile(str(file), "wb") as raw, pa.ipc.new_stream(raw, table_schema("locations")) as stream:
        for _ in range(BATCHES * EACH):
            stream.write_batch(next(symbol_record_batches(table)))


@pytest.mark.parametrize("change", [cut, spoil, link, pipe, of_fewer_rows, Path.unlink])
def test_file_that_is_another_one_by_now_is_refused(path: Path, change: Callable[[Path], object]) -> None:
    table = locations(path)
    change(path / TABLE)
    with pytest.raises(InputError) as error:
        list(table)
    assert str(path / TABLE) in str(error.value)
    assert "\n" not in error.value.message


@pytest.mark.parametrize("change", [spoil, link, pipe])
def test_what_cannot_be_read_at_once_is_refused_in_the_same_words(path: Path, change: Callable[[Path], object]) -> None:
    change(path / TABLE)
    with pytest.raises(InputError) as at_once:
        BundleSource(path)
    with pytest.raises(InputError) as lean:
        BundleSource(path, lean=True)
    assert str(lean.value) == str(at_once.value)


def test_cut_table_is_read_up_to_the_cut(path: Path) -> None:
    cut(path / TABLE)
    source, lean = BundleSource(path), BundleSource(path, lean=True)
    assert source.meta.warnings == lean.meta.warnings != []
    assert 0 < len(lean.symbols.locations) < BATCHES * EACH
    assert list(lean.symbols.locations) == list(source.symbols.locations)


def test_locations_need_room_even_if_their_names_do_not(tmp_path: Path) -> None:
    path = written(tmp_path / "large.atomtrace", each=100)
    with memory_limited(24_000), pytest.raises(TooLargeError, match="tables of") as error:
        BundleSource(path, lean=True)
    assert str(path / TABLE) in str(error.value)


def test_names_in_a_directory_whose_name_is_no_utf8(tmp_path: Path) -> None:
    directory = Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff"))
    directory.mkdir()
    try:
        path = written(directory / "t.atomtrace")
        assert list(locations(path)) == [f"x{i}" for i in range(BATCHES * EACH)]
    finally:
        shutil.rmtree(directory)
