"""Bundles that say which locations are dead: batches have them, and what a stranger claims is looked at."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import atomsan
from atomsan import InputError
from atomsan.trace.arrow import DEAD_SCHEMA
from atomsan.trace.bundle import DEAD, BundleWriter
from atomsan.trace.events import Batch
from atomsan.trace.meta import TraceMeta
from atomsan.trace.symbols import Symbols


def bundle(path: Path, dead: list[list[int]]) -> Path:
    """A batch of two reads for each list: its locations are dead then."""
    path.mkdir()
    symbols, meta = Symbols(), TraceMeta("test", "recording", complete=True)
    symbols.threads.intern("T1")
    for i in range(10):
        symbols.locations.intern(f"x{i}")
    writer = BundleWriter(path, symbols, meta)
    for i, some in enumerate(dead):
        zeros, target = np.zeros(2, np.uint32), np.array([i, i], np.uint32)
        locations = np.array(some, np.uint32) if some else None
        writer.write(Batch(2 * i, zeros, np.zeros(2, np.uint8), target, zeros + 0xFFFFFFFF, locations))
    writer.finish()
    return path


def dead_of(path: Path) -> list[list[int] | None]:
    batches = atomsan.open_trace(path).batches()
    return [None if batch.dead is None else batch.dead.tolist() for batch in batches]


def test_dead_locations_come_with_the_batch_that_they_were_written_with(tmp_path: Path) -> None:
    dead = [[0], [], [1, 2, 3, 7], [4, 5]]
    assert dead_of(bundle(tmp_path / "t.atomtrace", dead)) == [one or None for one in dead]
    assert not (bundle(tmp_path / "none.atomtrace", [[], []]) / DEAD).exists()


@pytest.mark.parametrize("rows", [[(0, 0, 0xFFFFFFFF)], [(2, 0, 6), (2, 5, 6)]])
def test_more_dead_than_there_are_locations_are_refused(tmp_path: Path, rows: list[tuple[int, int, int]]) -> None:
    path = bundle(tmp_path / "t.atomtrace", [[0], [1]])
    columns = [pa.array(column, field.type) for column, field in zip(zip(*rows, strict=True), DEAD_SCHEMA, strict=True)]
    with pa.OSFile(str(path / DEAD), "wb") as file, pa.ipc.new_stream(file, DEAD_SCHEMA) as stream:
        stream.write_batch(pa.RecordBatch.from_arrays(columns, schema=DEAD_SCHEMA))
    with pytest.raises(InputError, match="more locations die in it than there are") as error:
        dead_of(path)
    assert str(path / DEAD) in str(error.value)


@pytest.mark.parametrize("size", [0, 3, 200, 10_000])
def test_cut_of_what_is_dead_cuts_nothing_else(tmp_path: Path, size: int) -> None:
    path = bundle(tmp_path / "t.atomtrace", [[0], [1], [2]])
    content = (path / DEAD).read_bytes()
    (path / DEAD).write_bytes(content[:size])
    trace = atomsan.load(path)
    assert len(trace) == 6
    assert trace.meta.complete
    assert trace.meta.warnings == []
