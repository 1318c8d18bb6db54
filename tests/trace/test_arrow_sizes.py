"""What a stranger's Arrow stream claims is looked at before anything is allocated."""

from __future__ import annotations

import contextlib
import io
import os
import struct
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import atomsan
from atomsan.errors import InputError
from atomsan.trace import arrow_sizes
from atomsan.trace.arrow import table_schema
from atomsan.trace.arrow_sizes import StreamCutError
from atomsan.trace.arrow_sizes import messages as checked

SCHEMA = pa.schema([("number", pa.uint32()), ("name", pa.utf8())])


def stream(*sizes: int, compression: str | None = "lz4") -> bytes:
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, SCHEMA, options=pa.ipc.IpcWriteOptions(compression=compression)) as writer:
        for size in sizes:
            numbers = pa.array(np.arange(size, dtype=np.uint32))
            writer.write_batch(pa.record_batch([numbers, pa.array(["x" * 9] * size)], schema=SCHEMA))
    return sink.getvalue()


def messages(raw: bytes) -> list[int]:
    """Where each message begins, and the stream ends."""
    return [0, *(one.end for one in checked(lambda at, count: raw[at : at + count], len(raw)))]


@pytest.mark.parametrize("compression", ["lz4", "zstd", None])
def test_streams_of_arrow_are_accepted_to_their_end(compression: str) -> None:
    raw = stream(0, 1, 10, 100_000, 1_000_000, compression=compression)
    assert messages(raw)[-1] == len(raw)
    assert len(messages(raw)) == 8  # the schema, five batches, the end, and where that ends


@given(size=st.integers(0, 3000))
def test_cut_stream_is_cut_and_not_damaged(size: int) -> None:
    raw = stream(1, 10)[:size]
    try:
        assert messages(raw)[-1] <= size
    except StreamCutError:
        assert size < len(stream(1, 10))


@given(at=st.integers(0, 2000), flip=st.integers(1, 255))
def test_any_damage_is_refused_or_cut_or_not_about_sizes(at: int, flip: int) -> None:
    raw = bytearray(stream(1, 100))
    raw[at % len(raw)] ^= flip
    with contextlib.suppress(InputError, StreamCutError):
        messages(bytes(raw))


def with_claim(raw: bytes, claimed: int) -> bytes:
    """With another length that the first compressed buffer of the first batch claims to unpack to."""
    start = messages(raw)[1]
    body = start + 8 + struct.unpack_from("<I", raw, start + 4)[0]
    assert struct.unpack_from("<q", raw, body)[0] == 400_000
    return raw[:body] + struct.pack("<q", claimed) + raw[body + 8 :]


def with_body(raw: bytes, length: int) -> bytes:
    """With another length of the body of the first batch."""
    first, second = messages(raw)[1:3]
    body = first + 8 + struct.unpack_from("<I", raw, first + 4)[0]
    at = raw.index(struct.pack("<q", second - body), first, body)
    return raw[:at] + struct.pack("<q", length) + raw[at + 8 :]


@pytest.mark.parametrize("claimed", [1 << 62, 10_000_000_000, 255 * 400_100])
def test_buffer_that_claims_more_than_its_compression_can_do_is_refused(claimed: int) -> None:
    with pytest.raises(InputError, match=f"claims to unpack to {claimed:,}"):
        messages(with_claim(stream(100_000), claimed))


def test_buffer_that_claims_not_to_be_compressed_is_fine() -> None:
    assert messages(with_claim(stream(100_000), -1))


def test_body_that_is_not_there_is_a_cut() -> None:
    with pytest.raises(StreamCutError):
        messages(with_body(stream(100_000), 1 << 40))
    with pytest.raises(InputError, match="negative"):
        messages(with_body(stream(100_000), -8))


def test_buffers_that_share_bytes_are_refused() -> None:
    raw = stream(1000, compression=None)
    # the buffer of the numbers is the first one that is not empty: 4,000 bytes at 0
    at = raw.index(struct.pack("<qq", 0, 4000))
    following = raw.index(struct.pack("<qq", 4000, 4004), at)  # the offsets of the names
    moved = raw[:following] + struct.pack("<q", 0) + raw[following + 8 :]
    with pytest.raises(InputError, match="overlap"):
        messages(moved)


def test_too_many_buffers_are_refused() -> None:
    wide = pa.schema([(f"c{number}", pa.uint8()) for number in range(200)])
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, wide) as writer:
        writer.write_batch(pa.record_batch([pa.array([1], pa.uint8())] * 200, schema=wide))
    with pytest.raises(InputError, match="more than 256 buffers"):
        messages(sink.getvalue())


def test_dictionaries_are_refused() -> None:
    sink = io.BytesIO()
    batch = pa.record_batch([pa.array(["a", "b"]).dictionary_encode()], names=["name"])
    with pa.ipc.new_stream(sink, batch.schema) as writer:
        writer.write_batch(batch)
    with pytest.raises(InputError, match="neither a schema nor rows"):
        messages(sink.getvalue())


@pytest.fixture
def bundle(tmp_path: Path) -> Path:
    generated = atomsan.parse("T1:begin " + "T1:r(x) T2:w(x) " * 20_000 + "T1:end")
    generated.save(tmp_path / "t.atomtrace")
    return tmp_path / "t.atomtrace"


@pytest.mark.parametrize("name", ["events.arrows", "threads.arrows", "variables.arrows"])
def test_bundle_with_absurd_claims_is_refused_in_one_line(bundle: Path, name: str) -> None:
    path = bundle / name
    raw = path.read_bytes()
    start = messages(raw)[1]
    body = start + 8 + struct.unpack_from("<I", raw, start + 4)[0]
    path.write_bytes(raw[:body] + struct.pack("<q", 1 << 36) + raw[body + 8 :])
    with pytest.raises(InputError, match=rf"{name}: batch 0 is damaged: a buffer of .* claims to unpack to 68,719,476"):
        atomsan.load(bundle)


def test_archive_with_absurd_claims_is_refused_in_one_line(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    atomsan.parse("T1:r(x) T2:w(x)").save(path)
    metadata = pq.ParquetFile(path).metadata.metadata
    table = metadata[b"atomsan.threads"]
    start = messages(table)[1]
    body = start + 8 + struct.unpack_from("<I", table, start + 4)[0]
    changed = table[:body] + struct.pack("<q", 1 << 36) + table[body + 8 :]
    rewritten = pq.read_table(path).replace_schema_metadata(metadata | {b"atomsan.threads": changed})
    pq.write_table(rewritten, path)
    with pytest.raises(InputError, match=r"its table of threads is damaged: a buffer of .* claims to unpack"):
        atomsan.load(path)


@pytest.mark.parametrize("name", ["events.arrows", "sites.arrows", "meta.json"])
@pytest.mark.parametrize("kind", ["pipe", "device", "link", "directory"])
def test_what_is_no_file_in_a_bundle_is_refused(bundle: Path, name: str, kind: str) -> None:
    path = bundle / name
    path.rename(bundle.parent / name)
    if kind == "pipe":
        os.mkfifo(path)
    elif kind == "device":
        path.symlink_to("/dev/zero")
    elif kind == "link":
        path.symlink_to(bundle.parent / name)
    else:
        path.mkdir()
    with pytest.raises(InputError, match=rf"{name}: (not a file: a bundle has no|cannot be read: .*irectory)"):
        atomsan.load(bundle)


@pytest.mark.parametrize("name", ["t.atomtrace", "t.parquet"])
def test_tables_that_are_nothing_but_repetition_are_refused(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A table of equal texts, again and again: some kilobytes, of which each message alone is fine."""
    path = tmp_path / name
    atomsan.parse("T1:r(x)@s").save(path)
    schema = table_schema("functions")
    batch = pa.record_batch([pa.array(["f" * 1_000_000]), pa.array(["s" * 1_000_000])], schema=schema)
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, schema, options=pa.ipc.IpcWriteOptions(compression="zstd")) as writer:
        for _ in range(10):
            writer.write_batch(batch)
    if name == "t.atomtrace":
        (path / "functions.arrows").write_bytes(sink.getvalue())
    else:
        metadata = pq.ParquetFile(path).metadata.metadata | {b"atomsan.functions": sink.getvalue()}
        pq.write_table(pq.read_table(path).replace_schema_metadata(metadata), path)
    assert len(sink.getvalue()) < 20_000
    assert len(atomsan.load(path).symbols.functions) == 10
    monkeypatch.setattr(arrow_sizes, "_ALWAYS_KEPT", 1 << 20)
    with pytest.raises(InputError, match=r"damaged: tables of [\d,]+ bytes that claim to unpack to [\d,]+$"):
        atomsan.load(path)
