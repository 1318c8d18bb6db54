"""What the pages of a stranger's Parquet file claim is looked at before anything is allocated."""

from __future__ import annotations

import contextlib
import os
import threading
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import atomsan
from atomsan.errors import InputError
from atomsan.trace import parquet_sizes
from atomsan.trace.arrow import EVENT_SCHEMA
from atomsan.trace.memory import memory_limited
from atomsan.trace.parquet_sizes import check_pages
from atomsan.trace.writing import write_trace


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("archive") / "t.parquet"
    atomsan.parse("T1:r(x)@s T2:w(x)@s").save(path)
    return path


def rewritten(archive: Path, path: Path, events: int, **options: object) -> Path:
    """The archive with so many events, written in another way."""
    table = pa.table([pa.array(np.zeros(events, field.type.to_pandas_dtype())) for field in EVENT_SCHEMA], EVENT_SCHEMA)
    metadata = pq.ParquetFile(archive).metadata.metadata
    pq.write_table(table.replace_schema_metadata(metadata), path, **options)
    return path


def check(path: Path) -> None:
    content = path.read_bytes()
    check_pages(lambda at, count: content[at : at + count], pq.ParquetFile(path).metadata, EVENT_SCHEMA.names)


@pytest.mark.parametrize("options", [
    {}, {"compression": "zstd"}, {"compression": "none"}, {"use_dictionary": False}, {"data_page_version": "2.0"},
    {"row_group_size": 1000}, {"data_page_size": 100}, {"write_statistics": False}, {"write_page_checksum": True},
], ids=str)  # fmt: skip
def test_files_of_every_writer_are_accepted(options: dict[str, object], archive: Path, tmp_path: Path) -> None:
    path = rewritten(archive, tmp_path / "t.parquet", 3000, **options)
    check(path)
    assert len(next(iter(atomsan.open_trace(path).batches()))) == 3000


def test_archive_of_several_row_groups_is_accepted(tmp_path: Path) -> None:
    write_trace(atomsan.open_trace(archive_of(tmp_path, 5000), batch_events=1000), tmp_path / "t.parquet")
    assert pq.ParquetFile(tmp_path / "t.parquet").metadata.num_row_groups == 5
    check(tmp_path / "t.parquet")


def archive_of(directory: Path, events: int) -> Path:
    (directory / "t.std").write_text("".join(f"T{i % 3}|r(V{i % 7})|{i % 5}\n" for i in range(events)))
    return directory / "t.std"


@pytest.mark.parametrize("compression", ["zstd", "gzip", "brotli", "none"])
def test_page_that_unpacks_to_more_than_pages_have_is_refused(
    compression: str, archive: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of zeros, a file of some kilobytes unpacked to gigabytes: all of a page is unpacked at once."""
    path = rewritten(archive, tmp_path / "t.parquet", 3000, compression=compression, use_dictionary=False)
    assert len(atomsan.load(path)) == 3000
    monkeypatch.setattr(parquet_sizes, "MOST_PAGE", 11_999)
    with pytest.raises(InputError, match=r"t\.parquet: a page that claims to unpack to 12,000 bytes"):
        atomsan.load(path)


def test_column_that_is_larger_than_the_memory_is_refused(archive: Path) -> None:
    with memory_limited(100), pytest.raises(InputError, match=r"a column thread of .* are not enough"):
        check(archive)


def test_claims_of_a_page_are_compared_with_its_column(archive: Path, tmp_path: Path) -> None:
    path = rewritten(archive, tmp_path / "t.parquet", 3000, compression="zstd", use_dictionary=False)
    content = bytearray(path.read_bytes())
    at = pq.ParquetFile(path).metadata.row_group(0).column(0).data_page_offset
    header = parquet_sizes._Header(bytes(content[at : at + 100]))
    packed, unpacked = header.sizes()
    assert (packed < 100, unpacked) == (True, 3000 * 4)
    # the fields 1 and 2, and that with the packed size: a byte each for what they are, then the number
    assert content[at : at + 3] == b"\x15\x00\x15"
    field = content.index(b"\x15", at + 3)
    content[field + 1 : field + 2] = b"\x7f"  # -64, of which there cannot be any
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"a page that claims to have -64 bytes"):
        atomsan.load(path)


@given(at=st.integers(0, 3000), flip=st.integers(1, 255))
def test_any_damage_is_refused_or_not_about_sizes(archive: Path, at: int, flip: int) -> None:
    content = bytearray(archive.read_bytes())
    metadata = pq.ParquetFile(archive).metadata
    content[at % len(content)] ^= flip
    with contextlib.suppress(InputError):
        check_pages(lambda at, count: bytes(content[at : at + count]), metadata, EVENT_SCHEMA.names)


@pytest.mark.parametrize(
    "raw",
    [b"", b"\x15", b"\x15\x80", b"\x19\xfc\xff\xff\xff\xff\x0f", b"\x18\xff\xff\x03", b"\x1b\x00", b"\x1c" * 5000],
)
def test_damaged_header_is_refused(raw: bytes, archive: Path) -> None:
    metadata = pq.ParquetFile(archive).metadata
    with pytest.raises(InputError, match=r"a page whose header is damaged|claims"):
        check_pages(lambda at, count: raw, metadata, EVENT_SCHEMA.names)


@pytest.mark.parametrize("name", ["t.parquet", "t.atomtrace", "PIPE.PARQUET", "t"])
def test_pipe_is_neither_archive_nor_bundle(name: str, tmp_path: Path) -> None:
    """Nobody writes to it: it would be waited for."""
    os.mkfifo(tmp_path / name)
    with pytest.raises(InputError, match="neither a file nor a directory"):
        atomsan.load(tmp_path / name, format="parquet" if name == "t" else None)


def test_archive_is_not_read_from_a_pipe(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "t")
    writer = threading.Thread(target=lambda: (tmp_path / "t").write_bytes(b"PAR1" + b"x" * 100))
    writer.start()
    with pytest.raises(InputError, match="is read from a file"):
        atomsan.load(tmp_path / "t")
    writer.join()
