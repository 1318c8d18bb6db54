"""Bundles that say which locations are dead: batches have them, and what a stranger claims is looked at."""

from __future__ import annotations

import os
import tracemalloc
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import atomsan
from atomsan import InputError
from atomsan.trace import bundle as bundles
from atomsan.trace.arrow import DEAD_SCHEMA
from atomsan.trace.bundle import BundleWriter
from atomsan.trace.bundle_files import DEAD, remove_bundle, why_no_bundle
from atomsan.trace.events import Batch
from atomsan.trace.meta import TraceMeta
from atomsan.trace.symbols import Symbols


def bundle(path: Path, dead: list[list[int]], targets: list[int] | None = None) -> Path:
    """A batch of two reads for each list: its locations are dead then."""
    path.mkdir()
    symbols, meta = Symbols(), TraceMeta("test", "recording", complete=True)
    symbols.threads.intern("T1")
    for i in range(10):
        symbols.locations.intern(f"x{i}")
    writer = BundleWriter(path, symbols, meta)
    for i, some in enumerate(dead):
        zeros, target = np.zeros(2, np.uint32), np.full(2, targets[i] if targets else i, np.uint32)
        locations = np.array(some, np.uint32) if some else None
        writer.write(Batch(2 * i, zeros, np.zeros(2, np.uint8), target, zeros + 0xFFFFFFFF, locations))
    writer.finish()
    return path


def dead_of(path: Path) -> list[list[int] | None]:
    batches = atomsan.open_trace(path).batches()
    return [None if batch.dead is None else batch.dead.tolist() for batch in batches]


@pytest.mark.parametrize("at_once", [1, 2, 100])
def test_dead_locations_come_with_the_batch_that_they_were_written_with(
    tmp_path: Path, at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bundles, "DEAD_AT_ONCE", at_once)
    dead = [[0], [], [1, 2, 6, 7], [4, 5]]
    assert dead_of(bundle(tmp_path / "t.atomtrace", dead)) == [one or None for one in dead]
    assert not (bundle(tmp_path / "none.atomtrace", [[], []]) / DEAD).exists()


def say_dead(path: Path, rows: list[tuple[int, int, int]]) -> Path:
    columns = [pa.array(column, field.type) for column, field in zip(zip(*rows, strict=True), DEAD_SCHEMA, strict=True)]
    options = pa.ipc.IpcWriteOptions(compression="lz4")
    with pa.OSFile(str(path / DEAD), "wb") as file, pa.ipc.new_stream(file, DEAD_SCHEMA, options=options) as stream:
        stream.write_batch(pa.RecordBatch.from_arrays(columns, schema=DEAD_SCHEMA))
    return path


TWICE, NOT_THERE = "a location dies in it twice", "a location dies in it that there is not"


@pytest.mark.parametrize(
    ("rows", "why"),
    [
        ([(0, 0, 0xFFFFFFFF)], "more locations die in it than there are"),
        ([(2, 0, 6), (2, 5, 6)], "more locations die in it than there are"),
        ([(2, 0xFFFFFFFF, 1)], NOT_THERE),
        ([(2, 9, 2)], NOT_THERE),
        ([(2, 2, 3), (2, 4, 1)], TWICE),
        ([(2, 4, 1), (2, 2, 3)], TWICE),
    ],
)
def test_dead_locations_that_cannot_be_are_refused(tmp_path: Path, rows: list[tuple[int, int, int]], why: str) -> None:
    path = bundle(tmp_path / "t.atomtrace", [[], []])
    say_dead(path, rows)
    with pytest.raises(InputError) as error:
        dead_of(path)
    assert why in error.value.message
    assert str(path / DEAD) in str(error.value)


def test_location_that_is_accessed_when_it_is_dead_is_refused(tmp_path: Path) -> None:
    path = bundle(tmp_path / "t.atomtrace", [[1], [0], []], targets=[1, 0, 0])
    with pytest.raises(InputError, match="event 4 accesses a location that is dead by then") as error:
        dead_of(path)
    assert str(path / DEAD) in str(error.value)


def test_location_that_dies_in_two_batches_is_refused(tmp_path: Path) -> None:
    path = bundle(tmp_path / "t.atomtrace", [[7], [7]])
    with pytest.raises(InputError, match=TWICE):
        dead_of(path)


def test_many_rows_about_nothing_take_no_memory(tmp_path: Path) -> None:
    path = say_dead(bundle(tmp_path / "t.atomtrace", [[0], [1]]), [(0, 0, 0)] * 300_000)
    tracemalloc.start()
    try:
        dead_of(path)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most < 64 << 20


@pytest.mark.parametrize("make", ["link", "pipe", "directory", "text"])
def test_dead_locations_are_read_from_a_file_only(tmp_path: Path, make: str) -> None:
    path = bundle(tmp_path / "t.atomtrace", [[0], [1]])
    (path / DEAD).rename(tmp_path / "elsewhere")
    if make == "link":
        (path / DEAD).symlink_to(tmp_path / "elsewhere")
    elif make == "pipe":
        os.mkfifo(path / DEAD)
    elif make == "directory":
        (path / DEAD).mkdir()
    else:
        (path / DEAD).write_text("not a stream at all")
    with pytest.raises(InputError) as error:
        dead_of(path)
    assert DEAD in str(error.value)


def test_bundle_with_dead_locations_is_recognised_and_removed(tmp_path: Path) -> None:
    path = bundle(tmp_path / "t.atomtrace", [[0], [1]])
    assert (path / DEAD).exists()
    assert why_no_bundle(path) is None
    remove_bundle(path)
    assert not path.exists()


@pytest.mark.parametrize("size", [0, 3, 200, 10_000])
def test_cut_of_what_is_dead_cuts_nothing_else(tmp_path: Path, size: int) -> None:
    path = bundle(tmp_path / "t.atomtrace", [[0], [1], [2]])
    content = (path / DEAD).read_bytes()
    (path / DEAD).write_bytes(content[:size])
    trace = atomsan.load(path)
    assert len(trace) == 6
    assert trace.meta.complete
    assert trace.meta.warnings == []
